// The properties of the page /status after each action that Bombadil chooses. Bombadil provides the modules that this file imports.

import { always } from "@antithesishq/bombadil";
import { extract } from "@antithesishq/bombadil/browser";

export * from "@antithesishq/bombadil/browser/defaults";

const brokenLinks = extract(({ document }) =>
  [...document.querySelectorAll('a[href^="#"]')]
    .map((link) => link.getAttribute("href"))
    .filter((href) => document.getElementById(href.slice(1)) === null),
);
const path = extract(({ window }) => window.location.pathname);
const summary = extract(({ document }) => document.getElementById("summary")?.textContent ?? "");
const unreadable = extract(({ document }) =>
  [...document.body.innerText.matchAll(/\b(?:undefined|NaN|null|\[object \w+\])(?=\s|$)/g)].map(
    ([text]) => text,
  ),
);

export const everyLinkHasItsTarget = always(() => brokenLinks.current.length === 0);
export const thePageIsNotLeft = always(() => path.current === "/status");
export const theSummaryIsThere = always(() => summary.current.trim() !== "");
export const everyValueIsReadable = always(() => unreadable.current.length === 0);
