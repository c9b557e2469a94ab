"use strict";
// The page's data is drawn as it is: this program knows cards and piles, but no game's rules.
// A game holds its first board, and of each later one only what differs: for a pile how many of
// its cards stay, and the texts of those that come on top of them.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const CARD = 100, HIGH = 140, MARGIN = 14;
const SUITS = { C: "clubs", D: "diamonds", H: "hearts", S: "spades" };
const RANKS = { A: "ace", T: "10", J: "jack", Q: "queen", K: "king" };
const state = { game: 0, step: 0, timer: 0, view: "player" };
const boards = new Map(); // by game and view: the piles' cards at every step

function node(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

const split = (cards) => cards.match(/../g) || [];
const isUnseen = (card) => card === "##";
const isUp = (card) => !isUnseen(card) && card === card.toUpperCase();
const isRed = (card) => "DH".includes(card[1].toUpperCase());

function words(card) {
  if (isUnseen(card)) return "face down";
  const name = card.toUpperCase();
  const text = (RANKS[name[0]] || name[0]) + " of " + SUITS[name[1]];
  return isUp(card) ? text : text + ", face down";
}

// All boards of a game in a view: for each step the cards of each pile, its sign, and counters.
function boardsOf(game, view) {
  const key = game + view;
  if (boards.has(key)) return boards.get(key);
  const { first, changes } = data.games[game][view];
  let piles = first.piles.map(split), signs = first.signs, counters = first.counters;
  const every = [{ piles, signs, counters, grown: piles.map(() => 0) }];
  for (const change of changes) {
    const before = piles;
    piles = piles.slice();
    for (const [pile, stay, cards] of change[0]) {
      piles[pile] = piles[pile].slice(0, stay).concat(split(cards));
    }
    counters = counters.map((value, i) => (change[1][i] === undefined || change[1][i] === null
      ? value : change[1][i]));
    if (change[2]) signs = change[2];
    const grown = piles.map((pile, i) => Math.max(0, pile.length - before[i].length));
    every.push({ piles, signs, counters, grown });
  }
  boards.set(key, every);
  return every;
}

// Where the cards of a pile lie; the same rule as in the pictures.
function places(pile, cards) {
  const [x, y] = [pile.x * CARD, pile.y * HIGH];
  if (pile.fan === "right") {
    const covered = Math.max(0, cards.length - pile.fanned);
    return cards.map((_, i) => [x + data.fan.right * CARD * Math.max(0, i - covered), y]);
  }
  if (pile.fan !== "down") return cards.map(() => [x, y]);
  const share = (card) =>
    isUnseen(card) ? data.fan.unseen : isUp(card) ? data.fan.up : data.fan.known;
  const shows = cards.map((card) => share(card) * HIGH);
  const sum = shows.slice(0, -1).reduce((a, b) => a + b, 0);
  const scale = Math.min(1, ((data.height - pile.y - 1) * HIGH) / (sum || 1));
  let at = y;
  return cards.map((_, i) => [x, i ? (at += scale * shows[i - 1]) : at]);
}

function drawCard(card) {
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", "card");
  node(group, "rect", { class: "face", width: CARD, height: HIGH, rx: 9 });
  if (isUnseen(card)) {
    node(group, "rect", { class: "back", x: 6, y: 6, width: CARD - 12, height: HIGH - 12, rx: 6 });
    return group;
  }
  const name = card.toUpperCase();
  const colour = isRed(card) ? "red" : "black";
  const rank = name[0] === "T" ? "10" : name[0];
  node(group, "text", { class: "rank " + colour, x: 7, y: 31 }, rank);
  const suit = "#suit-" + name[1];
  node(group, "use", { href: suit, class: colour, x: 67, y: 6, width: 26, height: 26 });
  node(group, "use", { href: suit, class: colour, x: 21, y: 58, width: 58, height: 58 });
  if (!isUp(card)) node(group, "rect", { class: "tint", width: CARD, height: HIGH, rx: 9 });
  return group;
}

function drawPlace(layer, pile, sign) {
  const group = node(layer, "g", { transform: `translate(${pile.x * CARD} ${pile.y * HIGH})` });
  node(group, "rect", { class: "place", x: 1, y: 1, width: CARD - 2, height: HIGH - 2, rx: 9 });
  if (SUITS[sign]) {
    node(group, "use", { href: "#suit-" + sign, class: "sign", x: 25, y: 45, width: 50, height: 50 });
  } else if (sign === "redeal") {
    node(group, "path", { class: "stroke", d: "M64 52A22 22 0 1 0 72 70" });
    node(group, "path", { class: "sign", d: "M57 34L79 50L56 64Z" });
  } else if (sign === "none") {
    node(group, "path", { class: "stroke", d: "M32 52L68 88M68 52L32 88" });
  } else if (sign) {
    node(group, "text", { class: "sign", x: 50, y: 87, "text-anchor": "middle" }, sign);
  }
}

const layers = {};
function prepare() {
  const svg = $("board");
  svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${data.width * CARD + 2 * MARGIN} ` +
    `${data.height * HIGH + 2 * MARGIN}`);
  const weave = node(node(svg, "defs", {}), "pattern",
    { id: "weave", width: 14, height: 14, patternUnits: "userSpaceOnUse" });
  node(weave, "rect", { width: 14, height: 14, fill: "var(--back)" });
  node(weave, "path", { d: "M7 2L12 7L7 12L2 7Z", fill: "var(--back-light)" });
  for (const name of ["places", "cards", "over"]) layers[name] = node(svg, "g", { id: name });
}

// Cards keep their element from step to step, so that they can be seen to move.
let shown = new Map();
function drawBoard(board) {
  layers.places.replaceChildren();
  layers.over.replaceChildren();
  const next = new Map();
  const order = [];
  data.piles.forEach((pile, p) => {
    const cards = board.piles[p];
    if (!cards.length) drawPlace(layers.places, pile, board.signs[p]);
    const spots = places(pile, cards);
    cards.forEach((card, i) => {
      const key = isUnseen(card) ? `${pile.name}/${i}` : card;
      const element = shown.get(key) || drawCard(card);
      next.set(key, element);
      element.dataset.card = card;
      element.dataset.pile = pile.name;
      const place = `translate(${spots[i][0]}px, ${spots[i][1]}px)`;
      order.push([element, place, element.style.transform !== place]);
    });
    const grown = board.grown[p];
    if (grown && cards.length) {
      const [x, y] = spots[pile.fan === "down" ? cards.length - grown : cards.length - 1];
      const low = spots[cards.length - 1][1];
      node(layers.over, "rect", { class: "mark", x: x - 2, y: y - 2, width: CARD + 4,
        height: low - y + HIGH + 4, rx: 11 });
    }
    if (pile.count && cards.length) {
      const text = String(cards.length);
      const y = (pile.y + 1) * HIGH - 24;
      node(layers.over, "rect", { class: "count-ground", x: pile.x * CARD + 3, y,
        width: 8 + 9 * text.length, height: 20, rx: 4 });
      node(layers.over, "text", { class: "count", x: pile.x * CARD + 7, y: y + 15 }, text);
    }
  });
  for (const [key, element] of shown) if (!next.has(key)) element.remove();
  // Those that move come last, and so above the others; each pile stays in its order.
  let last = null, pile = null;
  const moving = order.filter(([, , moves]) => moves);
  for (const [element] of moving) layers.cards.appendChild(element);
  for (const [element] of order) {
    if (element.dataset.pile !== pile) { pile = element.dataset.pile; last = null; }
    const follows = last && last.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (!element.parentNode || (last && !follows)) layers.cards.appendChild(element);
    last = element;
  }
  if (moving.length) layers.cards.getBoundingClientRect(); // so that what follows is a transition
  for (const [element, place] of moving) element.style.transform = place;
  shown = next;
}

function describe(board) {
  $("spoken").replaceChildren(...data.piles.map((pile, p) => {
    const cards = board.piles[p];
    const line = document.createElement("p");
    const hidden = cards.filter(isUnseen).length;
    const known = cards.filter((card) => !isUnseen(card)).map(words);
    const parts = [];
    if (hidden) parts.push(`${hidden} face down`);
    parts.push(...known);
    line.textContent = `${pile.label}: ${parts.join(", ") || "empty"}.`;
    return line;
  }));
}

function show(step, isStill) {
  const game = data.games[state.game];
  const every = boardsOf(state.game, state.view);
  state.step = Math.max(0, Math.min(step, every.length - 1));
  const board = every[state.step];
  $("board").classList.toggle("still", Boolean(isStill));
  drawBoard(board);
  describe(board);
  $("counters").replaceChildren(...data.counters.map((name, i) => {
    const pair = document.createElement("div");
    pair.append(Object.assign(document.createElement("dt"), { textContent: name }),
      Object.assign(document.createElement("dd"), { textContent: board.counters[i] }));
    return pair;
  }));
  $("scrub").value = state.step;
  const isEnd = state.step === every.length - 1;
  const move = state.step ? game.moves[state.step - 1] : "the deal";
  $("scrub").setAttribute("aria-valuetext", `${state.step}: ${move}`);
  const strong = Object.assign(document.createElement("strong"), { textContent: move });
  $("now").replaceChildren(`Move ${state.step} of ${every.length - 1}: `, strong,
    isEnd ? ` \u2013 ${game.outcome}, score ${game.score}` : "");
  $("now").setAttribute("aria-live", state.timer ? "off" : "polite");
  const current = $("moves").querySelector("[aria-current]");
  if (current) current.removeAttribute("aria-current");
  const item = $("moves").children[state.step];
  item.firstChild.setAttribute("aria-current", "step");
  const list = $("moves");
  if (item.offsetTop < list.scrollTop || item.offsetTop + item.offsetHeight >
      list.scrollTop + list.clientHeight) list.scrollTop = item.offsetTop - list.clientHeight / 2;
  $("back").disabled = $("first").disabled = !state.step;
  $("forward").disabled = $("last").disabled = isEnd;
  if (isEnd) pause();
}

function button(text, action) {
  const element = document.createElement("button");
  element.append(...text);
  element.addEventListener("click", action);
  const item = document.createElement("li");
  item.appendChild(element);
  return item;
}

function choose(number) {
  pause();
  state.game = number;
  const game = data.games[number];
  $("subtitle").textContent = game.title;
  $("moves").replaceChildren(...["the deal", ...game.moves].map((move, i) => {
    const count = Object.assign(document.createElement("i"), { textContent: i });
    return button([count, move], () => { pause(); show(i); });
  }));
  $("scrub").max = game.moves.length;
  Array.from($("games").children).forEach((item, i) => {
    if (i === number) item.firstChild.setAttribute("aria-current", "true");
    else item.firstChild.removeAttribute("aria-current");
  });
  const hasAll = Boolean(game.all);
  $("all-label").hidden = !hasAll;
  if (!hasAll) state.view = "player";
  $("view-note").textContent = hasAll ? "" :
    "Cards that the player never saw are not in this page.";
  show(0, true);
}

function pause() {
  clearInterval(state.timer);
  state.timer = 0;
  $("play").textContent = "Play";
}

function play() {
  if (state.step >= data.games[state.game].moves.length) show(0, true);
  clearInterval(state.timer);
  const pace = Number($("speed").value);
  state.timer = setInterval(() => show(state.step + 1, pace < 200), pace);
  $("play").textContent = "Pause";
}

const toggle = () => (state.timer ? pause() : play());
const stepTo = (step) => { pause(); show(step); };
const KEYS = {
  " ": toggle,
  ArrowLeft: () => stepTo(state.step - 1),
  ArrowRight: () => stepTo(state.step + 1),
  Home: () => stepTo(0),
  End: () => stepTo(Infinity),
  n: () => choose(Math.min(state.game + 1, data.games.length - 1)),
  p: () => choose(Math.max(state.game - 1, 0)),
};

prepare();
if (data.games.length > 1) {
  $("games-nav").hidden = false;
  $("games").append(...data.games.map((game, i) => button(
    [game.name, Object.assign(document.createElement("span"), { textContent: game.outcome })],
    () => choose(i))));
}
$("first").addEventListener("click", () => stepTo(0));
$("back").addEventListener("click", () => stepTo(state.step - 1));
$("play").addEventListener("click", toggle);
$("forward").addEventListener("click", () => stepTo(state.step + 1));
$("last").addEventListener("click", () => stepTo(Infinity));
$("speed").addEventListener("change", () => { if (state.timer) play(); });
$("scrub").addEventListener("input", (event) => { pause(); show(Number(event.target.value), true); });
$("all").addEventListener("change", (event) => {
  state.view = event.target.checked ? "all" : "player";
  show(state.step, true);
});
document.addEventListener("keydown", (event) => {
  const action = KEYS[event.key];
  const isTyping = event.target.matches("select, input[type=range], summary") ||
    (event.key === " " && event.target.matches("button, input"));
  if (!action || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});
// A link such as page.html#game=3&move=120 opens there.
const wanted = new URLSearchParams(location.hash.slice(1));
choose(Math.max(0, Math.min(Number(wanted.get("game") || 1), data.games.length) - 1));
if (wanted.has("move")) show(Number(wanted.get("move")) || 0, true);
