// `npm run bench -- nodes --count 1000`: measures the built executable and prints what came of it, with what it was measured
// on. A command, and never an assertion.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { keepLoopbackDirect } from "../../src/platform/environment.ts";
import { describeExecutable, describeLoad, describeMachine } from "./machine.ts";
import { measure } from "./measure.ts";
import { type Order, readOrder, refuse, refuseWord } from "./options.ts";
import { pageOf, putInto } from "./page.ts";
import {
  type Chapter,
  clientNodeChapter,
  everything,
  idleChapter,
  nodesChapter,
  scrapeChapter,
  servicesChapter,
  startChapter,
} from "./parts.ts";
import { builtExecutable } from "./world.ts";

const document = resolve(import.meta.dir, "../../docs/benchmarks.md");

function chaptersOf({ what, common, counts, nodes, load }: Order): readonly Chapter[] {
  switch (what) {
    case "all":
      return everything(common, load);
    case "nodes":
      return [nodesChapter(common, counts ?? [1000])];
    case "services":
      return [
        servicesChapter(
          common,
          (nodes ?? [1000]).flatMap((each) => (counts ?? [200]).map((count) => ({ count, nodes: each }))),
        ),
      ];
    case "start":
      return [startChapter(common)];
    case "idle":
      return [idleChapter(common, nodes ?? [0, 1000])];
    case "scrape":
      return [scrapeChapter(common, load)];
    case "client-node":
      return [clientNodeChapter()];
    default:
      return refuseWord(what);
  }
}

const order = readOrder();
const { common, runs, output, write } = order;
const chapters = chaptersOf(order);
const executable = common.executable ?? builtExecutable;
if (!existsSync(executable)) refuse(`There is no ${executable}; make it with: npm run build fake`);
keepLoopbackDirect();
const circumstances = {
  date: new Date().toISOString().slice(0, 10),
  executable: describeExecutable(executable),
  machine: describeMachine(),
  load: describeLoad(),
  cloud: `simulated, ${common.cloudLatencyMs} ms a request, ${common.actionMs} ms to make or change a balancer`,
};
const measured = await measure(chapters, runs);
const page = pageOf(circumstances, measured);
process.stdout.write(`${page}\n`);
if (output !== undefined) writeFileSync(output, page);
if (write) {
  const whole = putInto(readFileSync(document, "utf8"), page);
  if (whole === undefined)
    refuse(`${document} has no place for the figures; it is between two comments that name this command.`);
  else writeFileSync(document, whole);
}
process.exit(measured.failures.length === 0 ? 0 : 1);
