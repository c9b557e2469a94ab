"use strict";
// Opens the replay page of an environment, which lies in this page compressed, at one of its games.
const pages = new Map();

async function replayPage(id) {
  if (!pages.has(id)) {
    const packed = atob(document.getElementById(id).textContent.trim());
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(stream).text();
    pages.set(id, URL.createObjectURL(new Blob([text], { type: "text/html" })));
  }
  return pages.get(id);
}

const dialog = document.querySelector("dialog");
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-page]");
  if (!button) return;
  const url = await replayPage(button.dataset.page);
  const frame = document.createElement("iframe");
  frame.title = button.getAttribute("aria-label");
  frame.src = `${url}#game=${button.dataset.game}`;
  dialog.querySelector("iframe").replaceWith(frame);
  dialog.querySelector("strong").textContent = frame.title;
  dialog.showModal();
});
dialog.addEventListener("close", () => {
  dialog.querySelector("iframe").src = "about:blank";
});
