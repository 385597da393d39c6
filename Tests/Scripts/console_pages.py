"""A page of the console in a browser: what it is held to at each width and in each scheme."""

import base64
import json
import os
import urllib.error
import urllib.parse
import urllib.request

from webdriver import Failure

WIDTHS = (1440, 1024, 768, 390)
# The device that the checks look up, and forget.
DEVICE = "aaaaaaaa-0000-4000-8000-000000000001"

# Runs in the page: controls without a name, text with weak contrast, a page wider than its window, doubled ids.
AUDIT = r"""
const problems = [];
const shown = (element) => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
const where = (element) => element.tagName.toLowerCase() + (element.className?.baseVal ?? element.className
  ? '.' + (element.className.baseVal ?? element.className).replaceAll(' ', '.') : '') + ' "'
  + (element.textContent ?? '').trim().slice(0, 40) + '"';
const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const parse = (text) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = '#000'; canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r / 255, g / 255, b / 255, a / 255];
};
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const ground = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.backgroundImage !== 'none') { const stop = style.backgroundImage.match(/rgba?\([^)]*\)/); if (stop) { layers.push(parse(stop[0])); break; } }
    const colour = parse(style.backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1, 1]);
};
const light = (colour) => 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.nodeValue.trim() || seen.has(element) || !shown(element)) continue;
  seen.add(element);
  if (element.closest('.hidden, .skip, :disabled, script, option')) continue;
  const style = getComputedStyle(element);
  const below = ground(element);
  const [one, two] = [light(over(parse(style.color), below)), light(below)].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (two + 0.05);
  const size = parseFloat(style.fontSize);
  const least = size >= 24 || size >= 18.66 && +style.fontWeight >= 700 ? 3 : 4.5;
  if (ratio < least) problems.push(`contrast ${ratio.toFixed(2)} of ${where(element)}`);
}
for (const control of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
  if (shown(control) && !control.labels?.length && !control.ariaLabel) problems.push(`no label: ${where(control)} ${control.name}`);
}
for (const control of document.querySelectorAll('button, a[href], summary')) {
  if (shown(control) && !(control.innerText ?? control.textContent).trim() && !control.ariaLabel && !control.ariaHidden) problems.push(`no name: ${where(control)}`);
}
for (const image of document.querySelectorAll('img')) if (!image.hasAttribute('alt')) problems.push('an image without alt');
for (const image of document.querySelectorAll('svg')) if (!image.ariaHidden && !image.ariaLabel) problems.push('a drawing without a name');
const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) problems.push(`id ${id} stands twice`);
if (document.querySelectorAll('h1').length !== 1) problems.push(`${document.querySelectorAll('h1').length} h1`);
if (!document.documentElement.lang || !document.title) problems.push('no language or title');
for (const drawing of document.querySelectorAll('svg.bar, .chart svg')) {
  for (const part of drawing.querySelectorAll('rect:not(.track, .unknown)')) {
    if (+part.getAttribute('width') === 0) continue;
    // A gap between two parts tells them apart without colour. The unknown is hatched.
    const style = getComputedStyle(part);
    const [one, two] = [light(parse(style.stroke)), light(parse(style.fill.replace(/^url\([^)]*\) */, '')))].sort((a, b) => b - a);
    if (parseFloat(style.strokeWidth) === 0 || (one + 0.05) / (two + 0.05) < 3) {
      problems.push(`no gap around the part ${part.className.baseVal} of ${where(drawing)}`);
    }
  }
}
return [...new Set(problems)];
"""

# Runs in the page: what is cut off, what lies over something else, what is wider than the window.
LAYOUT = r"""
const problems = [];
const shown = (element) => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
const where = (element) => element.tagName.toLowerCase() + (element.id ? '#' + element.id : '')
  + (typeof element.className === 'string' && element.className ? '.' + element.className.trim().replace(/ +/g, '.') : '')
  + ' "' + (element.value || element.textContent || '').trim().slice(0, 30) + '"';
const root = document.documentElement;
if (root.scrollWidth > innerWidth) problems.push(`wider than the window: ${root.scrollWidth} > ${innerWidth}`);
if (/[a-z](false|true|nil)\b/.test(document.body.innerText)) problems.push('a value of Swift stands in the text');
const meet = (a, b) => ({left: Math.max(a.left, b.left), right: Math.min(a.right, b.right),
  top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom)});
const size = (a) => Math.max(0, a.right - a.left) * Math.max(0, a.bottom - a.top);
// The part of a box that its ancestors and the window leave.
const left = (element, box, isText) => {
  let part = meet(box, {left: 0, right: innerWidth, top: -1e6, bottom: 1e6});
  for (let at = element; at && at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    if ((isText || at !== element) && style.overflow !== 'visible') part = meet(part, at.getBoundingClientRect());
    if (style.position === 'fixed') break;
  }
  return part;
};
// Two lines of a long name are enough for a list, and the beginning of an id; a title or the page that it leads to has all of it.
const mayBeCut = (element) => element.closest('.crumbs, h1:has(a), td.name > a:first-child, .log td.name span, [title], .island, .silent, .skip, .hidden, .first, .pick ul');
const canvas = document.createElement('canvas').getContext('2d');
const wide = (text, element) => {
  const style = getComputedStyle(element);
  canvas.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return canvas.measureText(text).width;
};
const space = (element) => {
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
};
const controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, meter, progress, svg.bar')]
  .filter((element) => shown(element) && !element.closest('.skip, .hidden, .first, .silent, .pick[open] ul'));
for (const control of controls) {
  if (mayBeCut(control)) continue;
  for (const box of control.getClientRects()) {
    if (size(box) > 0 && size(left(control, box)) < 0.98 * size(box)) problems.push(`cut off: ${where(control)}`);
  }
  if (control.matches('button, .button') && control.scrollWidth > control.clientWidth + 1) problems.push(`cut text: ${where(control)}`);
  if (control.matches('select') && wide(control.selectedOptions[0]?.text ?? '', control) > space(control) - 16) problems.push(`cut text: ${where(control)}`);
  if (control.placeholder && !control.value && control.matches('input') && wide(control.placeholder, control) > space(control) + 1) problems.push(`cut placeholder: ${where(control)} ${control.placeholder}`);
  if (control.matches('[type=date], [type=datetime-local]')) {
    const copy = control.cloneNode();
    copy.removeAttribute('id'); copy.style.cssText = 'width: auto; min-width: 0; position: absolute; visibility: hidden';
    control.after(copy);
    const needed = copy.offsetWidth;
    copy.remove();
    if (needed > control.offsetWidth + 1) problems.push(`cut date: ${where(control)} ${control.name}: ${control.offsetWidth} of ${needed}`);
  }
}
for (const element of document.querySelectorAll('body *')) {
  if (!shown(element) || mayBeCut(element)) continue;
  const style = getComputedStyle(element);
  if (style.textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth + 1) problems.push(`cut text: ${where(element)}`);
}
const boxes = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  const element = node.parentElement;
  if (!node.nodeValue.trim() || !shown(element) || element.closest('.skip, .hidden, .first, .silent, .pick[open] ul, script, option, textarea, .top')) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    const part = left(element, box, true);
    if (size(box) > 4 && size(part) === 0 && !mayBeCut(element)) problems.push(`hidden text: ${where(element)}`);
    if (size(part) > 4) boxes.push({...part, element});
  }
}
for (const control of controls) {
  if (control.matches('input, select, textarea, button, .button, svg.bar, meter, progress') && !control.closest('.top')) {
    const part = left(control, control.getBoundingClientRect());
    if (size(part) > 4) boxes.push({...part, element: control});
  }
}
boxes.sort((a, b) => a.top - b.top);
for (let i = 0; i < boxes.length; i += 1) {
  for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom - 4; j += 1) {
    const [a, b] = [boxes[i], boxes[j]];
    if (a.element === b.element || a.element.contains(b.element) || b.element.contains(a.element)) continue;
    const both = meet(a, b);
    if (both.right - both.left > 2 && both.bottom - both.top > 4) problems.push(`over each other: ${where(a.element)} and ${where(b.element)}`);
  }
}
for (const table of document.querySelectorAll('.rows')) {
  const column = table.closest('.columns > *') ?? document.querySelector('main');
  if (table.getBoundingClientRect().right > column.getBoundingClientRect().right - parseFloat(getComputedStyle(column).paddingRight) + 1) problems.push(`hidden part of a table: ${where(table)}`);
}
return [...new Set(problems)];
"""

# Runs in the page: each control shows that it has the focus, and not behind the head of the page.
FOCUS = r"""
const problems = [];
const head = document.querySelector('.top')?.getBoundingClientRect().bottom ?? 0;
const before = document.activeElement;
const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
  .filter((element) => element.checkVisibility({visibilityProperty: true}) && !element.disabled && element.tabIndex >= 0);
scrollTo(0, document.body.scrollHeight);
for (const element of all.reverse()) {
  element.focus({focusVisible: true});
  const name = `${element.tagName.toLowerCase()} "${(element.innerText || element.name || '').slice(0, 30)}"`;
  if (document.activeElement !== element) { problems.push(`takes no focus: ${name}`); continue; }
  const style = getComputedStyle(element);
  if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) problems.push(`focus is not seen: ${name}`);
  const box = element.getBoundingClientRect();
  if (!element.closest('.top, .side, .skip') && box.top < head - 1 && box.height < innerHeight / 2) problems.push(`focus is behind the head: ${name}`);
}
document.activeElement?.blur();
if (before && before !== document.body) before.focus({preventScroll: true});
scrollTo(0, 0);
return [...new Set(problems)];
"""

# Runs in the page, after axe-core: every rule but the experimental ones. A finding names its element.
AXE = r"""
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then((found) => done(found.violations.flatMap((rule) =>
  rule.nodes.map((node) => `axe ${rule.id}: ${node.target.join(' ')}: ${node.html.slice(0, 120)}`))), (error) => done([`axe: ${error}`]));
"""


class Pages:
    """The pages of one console, and what was found wrong with them."""

    def __init__(self, browser, options, url=None, key=None, secret=None):
        self.browser, self.options = browser, options
        self.gateway, self.key, self.secret = url or options.url, key or options.key, secret or options.secret
        self.axe = None
        if options.axe:
            with open(options.axe, encoding="utf-8") as script:
                self.axe = script.read()
        self.problems = []
        self.url = self.gateway + "/console"

    def api(self, method, path, body=None, secret=None):
        """A call of the API, to prepare something; with the secret of another credential if one is given."""
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        request = urllib.request.Request(self.gateway + path, method=method, data=text and text.encode())
        basic = base64.b64encode(f"{self.key}:{secret or self.secret}".encode()).decode()
        request.add_header("Authorization", "Basic " + basic)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else {}
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from None

    @staticmethod
    def quoted(text):
        return urllib.parse.quote(text, safe="")

    def faults(self, **fields):
        """What the simulator does wrong from now on."""
        request = urllib.request.Request(
            self.options.control + "/simulator/faults", method="POST", data=json.dumps(fields).encode())
        urllib.request.urlopen(request, timeout=60).read()

    def publish(self, name, state, event="update", **more):
        activity = {"name": name, "event": event, "content_state": state, **more}
        return self.api("POST", "/api/push", {
            "audience": "all", "device_types": ["ios"], "notification": {"ios": {"live_activity": activity}}})

    def say(self, text):
        print(f"  ✓ {text}", flush=True)

    def look(self, name, expected=None):
        """Audits the page at each width and in each colour scheme, and keeps a picture of each if asked."""
        browser = self.browser
        browser.script("window.scrollTo(0, 0)")
        for dark in (False, True):
            for width in WIDTHS:
                outer = width in (WIDTHS[0], WIDTHS[-1])
                if dark and not outer and not self.options.pictures:
                    continue
                browser.size(width, 860 if width > 400 else 740, dark)
                kind = f"{'dark' if dark else 'light'}-{width}"
                found = [] if dark else browser.script(LAYOUT)
                if outer:
                    found += browser.script(AUDIT)
                # Each rule of axe-core sees each scheme and each of these widths once.
                if (dark, width) in ((False, WIDTHS[0]), (True, WIDTHS[-1])):
                    found += self.barriers()
                self.problems += [f"{name}, {kind}: {problem}" for problem in found]
                if self.options.pictures:
                    browser.picture(os.path.join(self.options.pictures, f"{name}-{kind}.png"))
        browser.size(1280, 860)
        self.problems += [f"{name}: {problem}" for problem in browser.script(FOCUS)]
        self.problems += [f"{name}: {error}" for error in browser.errors() if expected is None or expected not in error]

    def barriers(self):
        """The findings of axe-core on the page as it stands."""
        if not self.axe:
            return []
        if not self.browser.script("return Boolean(window.axe)"):
            self.browser.script(self.axe)
        return self.browser.call("POST", "/execute/async", {"script": AXE, "args": []})

    def enter(self, secret, key=None):
        """Signs in with a credential, after the one before has signed out."""
        browser = self.browser
        browser.open(self.url + "/sign-in")
        browser.type("App key", key or self.key)
        browser.type("Master secret", secret)
        browser.press("Sign in")
        browser.until("the home page", lambda: browser.text("h1") == "Home")

    def sign_out(self):
        browser = self.browser
        browser.open(self.url)
        browser.click_on(".out button")
        browser.until("the sign-in page", lambda: "/sign-in" in browser.url)
        browser.open(self.url + "/pushes")
        browser.until("the sign-in page", lambda: "/sign-in" in browser.url)
