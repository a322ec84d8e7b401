// Judges the page in the frame and leaves what it found as JSON in the element `found`.
const frame = document.getElementById("page");
const channel = (value) => {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};
const colour = (text) => (text.match(/[\d.]+/g) || []).map(Number);
// Relative luminance and contrast ratio: WCAG 2.2.
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};
frame.onload = () => {
  const view = frame.contentWindow;
  const page = frame.contentDocument;
  const root = page.documentElement;
  const backdrop = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = colour(view.getComputedStyle(at).backgroundColor);
      if (alpha > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const texts = [];
  for (const part of page.querySelectorAll("details")) {
    const walk = page.createTreeWalker(part, 4);
    while (walk.nextNode()) texts.push(walk.currentNode.data);
  }
  const folded = texts.join(" ");
  let faint = [];
  for (const element of page.body.querySelectorAll("*")) {
    const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest("svg, script, [hidden]") || element.checkVisibility() === false) continue;
    const ratio = contrast(colour(view.getComputedStyle(element).color), backdrop(element));
    if (ratio < 4.5) faint.push(element.tagName + "." + element.className + " " + ratio.toFixed(2));
  }
  const nameless = Array.from(page.querySelectorAll("[tabindex], input, svg, nav"), (element) => element).filter(
    (element) => !element.getAttribute("aria-label") && !(element.labels && element.labels.length)
  );
  const ids = Array.from(page.querySelectorAll("[id]"), (element) => element.id);
  const found = {
    width: root.scrollWidth,
    columns: root.clientWidth,
    height: root.scrollHeight,
    faint: Array.from(new Set(faint)),
    nameless: nameless.map((element) => element.outerHTML.slice(0, 80)),
    doubled: ids.filter((id, at) => ids.indexOf(id) !== at),
    dangling: Array.from(page.querySelectorAll("[aria-describedby]")).filter(
      (element) => !page.getElementById(element.getAttribute("aria-describedby"))
    ).length,
    folded,
  };
  const words = page.getElementById("words");
  if (words) {
    const shown = () => page.querySelectorAll("section[data-refused]:not([hidden])").length;
    const refused = page.getElementById("refused");
    found.streams = shown();
    refused.checked = true;
    refused.dispatchEvent(new view.Event("change"));
    found.refused = shown();
    words.value = "line-7 ";
    refused.checked = false;
    words.dispatchEvent(new view.Event("input"));
    found.named = shown();
    words.value = "";
    words.dispatchEvent(new view.Event("input"));
  }
  frame.height = Math.min(root.scrollHeight, 6000);
  document.getElementById("found").textContent = JSON.stringify(found);
};
