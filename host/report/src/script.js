"use strict";
// Print shows everything: what is folded is opened, and folded again afterwards.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    part.dataset.folded = "";
  }
});
addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details[data-folded]")) {
    part.open = false;
    delete part.dataset.folded;
  }
});
const filter = document.getElementById("filter");
if (filter) {
  const words = document.getElementById("words");
  const refused = document.getElementById("refused");
  const count = document.getElementById("count");
  const streams = Array.from(document.querySelectorAll("section[data-refused]"), (section) => ({
    section,
    entry: document.getElementById("to-" + section.id),
    text: section.textContent.toLowerCase(),
    refused: section.dataset.refused === "yes",
  }));
  const show = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const stream of streams) {
      const fits = (stream.refused || !refused.checked) && stream.text.includes(wanted);
      stream.section.hidden = stream.entry.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = shown + " of " + streams.length + " streams";
  };
  words.addEventListener("input", show);
  refused.addEventListener("change", show);
  filter.hidden = false;
  show();
}
