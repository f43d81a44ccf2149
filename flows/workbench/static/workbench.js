"use strict";
// The parts of pages that need a script: progress, files that are dropped, and values of sliders.
// Everything else is a form or a link, which works without it.

// htmx notes the address of the page in the browser's storage; nothing of the workbench stays there.
for (const name of ["load", "htmx:afterSettle", "pagehide"]) {
  addEventListener(name, () => sessionStorage.clear());
}

// What was chosen and not saved yet outlasts a part of the page that comes anew, and is not left
// without a question.
const unsaved = new Set();
const isSaved = (field) => !field.form || field.form.method !== "post" || field.type === "file";
document.addEventListener("input", (event) => {
  if (!isSaved(event.target)) unsaved.add(event.target);
});
document.addEventListener("submit", (event) => {
  for (const field of unsaved) if (field.form === event.target) unsaved.delete(field);
});
addEventListener("beforeunload", (event) => {
  for (const field of unsaved) if (!field.isConnected) unsaved.delete(field);
  if (unsaved.size) event.preventDefault();
});
// A field is the same if it has the same name, in a form with the same hidden fields.
const keyOf = (field) => {
  const hidden = [...field.form.querySelectorAll("input[type=hidden]:not([name=digest])")];
  const choice = field.type === "checkbox" || field.type === "radio" ? field.value : "";
  return JSON.stringify([field.name, field.type, choice, hidden.map((part) => part.value)]);
};
let chosen = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  chosen = [...unsaved].filter((field) => event.detail.target.contains(field));
});
document.addEventListener("htmx:afterSettle", () => {
  for (const old of chosen.filter((field) => !field.isConnected)) {
    const fields = document.querySelectorAll(`[name="${CSS.escape(old.name)}"]`);
    const same = [...fields].find((field) => field.form && keyOf(field) === keyOf(old));
    unsaved.delete(old);
    if (!same) continue;
    same.value = old.value;
    same.checked = old.checked;
    unsaved.add(same);
  }
  chosen = [];
});

const lines = document.getElementById("lines");
if (lines && lines.dataset.events) {
  const events = new EventSource(lines.dataset.events);
  let number = lines.children.length;
  let received = 0;
  events.addEventListener("line", (event) => {
    received += 1;
    if (received <= number) return; // the page has these lines already
    const item = document.createElement("li");
    item.textContent = JSON.parse(event.data);
    lines.append(item);
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
  events.addEventListener("error", () => {
    number = Math.max(number, received);
    received = 0; // the browser asks again, and gets all lines again
  });
}

const drop = document.getElementById("drop");
if (drop) {
  drop.hidden = false;
  const state = document.getElementById("drop-state");
  const send = async (file) => {
    state.textContent = `${file.name} is being copied into the private work directory.`;
    const address = drop.dataset.place + encodeURIComponent(file.name);
    const answer = await fetch(address, { method: "PUT", body: file });
    if (answer.ok) {
      location.reload();
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const reason = page.querySelector("[role=alert]");
    state.textContent = reason ? reason.textContent.trim() : `${file.name} was not copied.`;
  };
  document.getElementById("file").addEventListener("change", (event) => {
    if (event.target.files[0]) send(event.target.files[0]);
  });
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dragging"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
  });
}

document.addEventListener("input", (event) => {
  const other = document.getElementById(event.target.dataset.twin || "");
  if (other) other.value = event.target.value;
});

// A value that is dragged onto another one, or onto its label, gets the same label. The label can
// be typed as well.
let dragged = null;
document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest(".groups li");
});
document.addEventListener("dragover", (event) => {
  if (dragged && event.target.closest(".groups li")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const target = event.target.closest(".groups li");
  if (!dragged || !target || target === dragged) return;
  event.preventDefault();
  const label = target.querySelector("input");
  if (!label.value) label.value = label.name.slice("group:".length);
  dragged.querySelector("input").value = label.value;
  dragged = null;
});
