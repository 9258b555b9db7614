/* What is looked for in a report, as expressions that a test evaluates in it. */
window.checks = {
  /* Elements that reach over the window's edge, unless they are in a part that can be scrolled. */
  overflow() {
    const width = document.documentElement.clientWidth, found = [];
    if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const element of document.querySelectorAll("body *")) {
      if (element.closest("svg") || element.closest(".skip") || element.closest("datalist")) continue;
      const box = element.getBoundingClientRect();
      if (!box.width || box.right <= width + 0.5) continue;
      let parent = element.parentElement, scrolls = false;
      for (; parent && !scrolls; parent = parent.parentElement) scrolls = getComputedStyle(parent).overflowX !== "visible";
      if (!scrolls) found.push(`${element.tagName} #${element.id} .${element.className} reaches ${box.right}`);
    }
    return found.slice(0, 5);
  },
  rgb(text) {
    const context = checks.context ||= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  },
  luminance([r, g, b]) {
    const part = v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
    return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  },
  ratio(a, b) {
    const [x, y] = [checks.luminance(a), checks.luminance(b)];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
  },
  background(element) {
    const rect = element.closest("svg g")?.querySelector("rect");
    if (rect) return checks.rgb(getComputedStyle(rect).fill);
    for (let at = element; at; at = at.parentElement) {
      const color = checks.rgb(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return checks.rgb("white");
  },
  /* Text that cannot be read well: below 4.5 to 1, or 3 to 1 if it is large. */
  contrast() {
    const found = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, datalist, .skip") || !element.getClientRects().length) continue;
      const style = getComputedStyle(element), size = parseFloat(style.fontSize);
      const color = checks.rgb(element.closest("svg") ? style.fill : style.color);
      const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
      const ratio = checks.ratio(color, checks.background(element));
      if (ratio < least) found.set(element.tagName + element.className, `${node.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    for (let hue = 0; hue < 360; hue += 15) {
      for (const shade of [0, .08]) {
        const ratio = checks.ratio(checks.rgb(INK), checks.rgb(color("").replace(/[\d.]+\)$/, hue + ")").replace(/\(([\d.]+)/, (_, l) => "(" + (Number(l) + shade))));
        if (ratio < 4.5) found.set("map" + hue, `a box of hue ${hue}: ${ratio.toFixed(2)}`);
      }
    }
    return [...found.values()].slice(0, 5);
  },
  plurals() {
    return (document.body.innerText.match(/\b1 (kernels|functions|inputs|registers|barriers|files|small ones)\b/g) || []).slice(0, 5);
  },
  /* Whether the kernel's box can be seen in the call graph. */
  kernelIsInView() {
    const frame = $("drawing").getBoundingClientRect(), box = document.querySelector("#drawing g.kernel")?.getBoundingClientRect();
    return Boolean(box) && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 && box.left >= frame.left - 1;
  },
};
