import { expect, test } from "bun:test";
import { featureGroups } from "../../scripts/docs/feature-rows.ts";
import { featuresPage } from "../../scripts/docs/features.ts";

const rows = featureGroups.flatMap((group) => group.rows);
const passed = (ids: readonly string[]) => ids.map((id) => ({ title: `it works [${id}]`, passed: true }));

test("the page names what is proved, and what is not by the part that it belongs to", () => {
  const page = featuresPage([
    ...passed(rows.map(([id]) => id).filter((id) => id !== "F16" && id !== "F66" && id !== "F17")),
    { title: "a node is tagged [F17]", passed: false },
  ]);
  expect(page).toContain(`${rows.length - 3} of ${rows.length} rows. No test`);
  expect(page.match(/^- .*$/gm)).toEqual([
    "- Node: Per-node agent for local data (F16); Instance tagging controller (F17)",
    "- Routes and IPAM: Pool usage status (F66)",
  ]);
  expect(page).toContain("| F1 |");
  expect(page).not.toContain("| F17 |");
});

test("nothing is said of others when every row is proved", () => {
  const page = featuresPage(passed(rows.map(([id]) => id)));
  expect(page).toContain(`${rows.length} of ${rows.length} rows. None is left.`);
  expect(page.match(/^- /gm)).toBeNull();
});

test("no id stands in two rows", () => {
  const ids = rows.map(([id]) => id);
  expect(ids).toHaveLength(new Set(ids).size);
});
