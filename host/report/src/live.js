"use strict";
// Replaces the text of the page's cells with what the gateway reports now. It writes text and never markup.
const STATE = new URL("ui/state", location.origin + location.pathname);
const PAUSE = 2000;
const PATIENCE = 5000;
const lost = document.getElementById("lost");

async function update() {
  try {
    const answer = await fetch(STATE, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) throw new Error(String(answer.status));
    for (const [id, text] of Object.entries(await answer.json())) {
      const cell = document.getElementById(id);
      if (cell && cell.textContent !== text) cell.textContent = text;
    }
    lost.textContent = "";
  } catch {
    lost.textContent = "The gateway does not answer. What stands here is old.";
  }
  setTimeout(update, PAUSE);
}

setTimeout(update, PAUSE);
