import { expect, test } from "bun:test";
import { brokenLinks } from "../../scripts/site/links.ts";
import { menuOf, pageText } from "../../scripts/site/pages.ts";

test.each([
  ["docs/flags.md", "[a](events.md#reasons)", "[a](events.md#reasons)"],
  ["docs/flags.md", "[a](../SECURITY.md)", "[a](security.md)"],
  ["docs/clouds/x.md", "[`a`](../decisions/0001-a.md)", "[`a`](../decisions/0001-a.md)"],
  ["docs/clouds/x.md", "[a](../README.md)", "[a](../all-pages.md)"],
  ["README.md", "[a](docs/install.md)", "[a](install.md)"],
  ["docs/features.md", "[the test](../test/a.test.ts)", "the test (`test/a.test.ts`)"],
  ["docs/features.md", "[`test/a.test.ts`](../test/a.test.ts)", "`test/a.test.ts`"],
  ["docs/flags.md", "[a](https://example.com/x)", "[a](https://example.com/x)"],
  ["docs/flags.md", "```\n[a](../b.ts)\n{{ x }}\n```", "```\n[a](../b.ts)\n{{ x }}\n```"],
  ["docs/flags.md", "`{{ x }}` and {{ y }}", "`{{ x }}` and &#123;&#123; y &#125;&#125;"],
])("the site writes the link in %s: %s as %s", (document, markdown, expected) => {
  expect(pageText(document, markdown)).toBe(expected);
});

test("the menu of the site matches the index of the documents", () => {
  const index =
    "## For operators, in order\n\n| [a.md](a.md) | x |\n\nReference, for names:\n\n| [b.md](b.md) | y |\n";
  const titles = new Map([
    ["docs/a.md", "Getting a"],
    ["docs/b.md", "All b"],
  ]);
  expect(menuOf(index, titles)).toEqual([
    { text: "Operators", collapsed: false, items: [{ text: "Getting a", link: "/a" }] },
    { text: "Reference", collapsed: true, items: [{ text: "All b", link: "/b" }] },
  ]);
  expect(() => menuOf("## A\n| [c.md](c.md) | z |", titles)).toThrow("c.md");
});

test("the link check reports links of the site to missing pages and headings", () => {
  const files = new Map([
    [
      "index.html",
      '<a href="/d/a.html#one">1</a><a href="/d/a.html#two">2</a><a href="b.html">3</a><a href="/d/icon.svg">4</a><a class="x" href="#here">5</a><a href="https://example.com">6</a>',
    ],
    ["a.html", '<h2 id="one">One</h2><a href="./">home</a>'],
  ]);
  expect(brokenLinks(files, new Set(["icon.svg"]), "/d/")).toEqual([
    "index.html: /d/a.html#two leads to no heading",
    "index.html: b.html leads to no page",
    "index.html: #here leads to no heading",
  ]);
});

test("the site takes an image from the image's folder below docs/", () => {
  expect(pageText("README.md", "![a](docs/images/status.png)")).toBe("![a](./images/status.png)");
  expect(pageText("docs/benchmarks.md", "![a](charts/x.svg)")).toBe("![a](./charts/x.svg)");
  expect(pageText("docs/clouds/x.md", "![a](../charts/x.svg)")).toBe("![a](./../charts/x.svg)");
});
