import { describe, expect, test } from "bun:test";
import { escapeHtml, html, trusted } from "../../../src/inspect/status/html.ts";

describe("HTML of the page /status", () => {
  test("HTML escapes every inserted text, including in attributes and lists", () => {
    const hostile = `<script>alert('x')</script>" onload="y&`;
    const shown = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;y&amp;";
    expect(html`<p title="${hostile}">${[hostile]}</p>`.text).toBe(`<p title="${shown}">${shown}</p>`);
  });

  test("HTML inserts HTML and numbers unchanged, and nothing for undefined", () => {
    expect(html`<b>${html`<i>${1}</i>`}${undefined}${trusted("&amp;")}</b>`.text).toBe(
      "<b><i>1</i>&amp;</b>",
    );
  });

  test("HTML replaces control characters and characters that reverse the text direction", () => {
    expect(escapeHtml("a\u0000b\u202Ec\u2066d\u001Be\nf")).toBe("a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\nf");
  });

  test("HTML truncates a long text before it is escaped", () => {
    const cut = escapeHtml("<".repeat(5000));
    expect(cut).toEndWith("&lt;…");
    expect(cut).toHaveLength(999 * 4 + 1);
  });
});
