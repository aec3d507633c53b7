// `npm start`: the real manager against the embedded sandbox and the cloud in memory, shown live on a terminal and as
// plain lines elsewhere. With --until-settled it ends by itself, for scripts.

import { defineCommand, runMain } from "citty";
import { milliseconds } from "../src/core/brand.ts";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { systemClock } from "../src/platform/clock.ts";
import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { createLog } from "../src/telemetry/log.ts";
import { openSandbox } from "./start/sandbox.ts";
import { type Chapter, storyOf } from "./start/story.ts";
import { linesOf } from "./start/view.ts";

const args = {
  nodes: { type: "string", default: "5", description: "Nodes that join." },
  "cloud-latency": {
    type: "string",
    default: "20",
    description: "Milliseconds that each cloud request takes.",
  },
  faults: { type: "boolean", default: false, description: "Let the cloud fail now and then." },
  port: { type: "string", default: "0", description: "Port of the API server; 0 takes a free one." },
  "until-settled": {
    type: "boolean",
    default: false,
    description: "End with 0 once everything has settled, with 1 and the reason when it does not.",
  },
  timeout: { type: "string", default: "120", description: "Seconds that --until-settled waits." },
} as const;

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

function wholeNumber(name: string, text: string, least: number, most = 1_000_000): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most)
    fail(`--${name} must be a whole number from ${least} to ${most}, got ${JSON.stringify(text)}.`);
  return value;
}

/** citty takes any flag without a word. */
function refuseUnknown(given: readonly string[]): void {
  const takesValue = (word: string): boolean =>
    Object.entries(args).some(([name, { type }]) => type === "string" && word === `--${name}`);
  const valued = new Set(given.flatMap((word, index) => (takesValue(word) ? [index + 1] : [])));
  for (const [index, word] of given.entries()) {
    if (!word.startsWith("-") && !valued.has(index))
      fail(`${word} is not understood; options begin with --.`);
    if (!word.startsWith("--")) continue;
    const name = word.slice(2).split("=")[0] ?? "";
    const known = [...Object.keys(args), "help", "version"];
    if (known.includes(name) || known.includes(name.replace(/^no-/, ""))) continue;
    const meant = didYouMean(name, known);
    fail(`--${name} is not known${meant === undefined ? "" : `; did you mean --${meant}?`}`);
  }
}

const main = defineCommand({
  meta: {
    name: "npm start --",
    description: "The manager on an embedded sandbox: nodes join, one is stopped, one vanishes.",
  },
  args,
  run: async ({ args: given, rawArgs }) => {
    refuseUnknown(rawArgs);
    keepLoopbackDirect();
    const nodes = wholeNumber("nodes", given.nodes, 1);
    const timeout = wholeNumber("timeout", given.timeout, 1) * 1000;
    const isLive = process.stdout.isTTY === true && !given["until-settled"];
    const write = (text: string) => void process.stdout.write(text);
    const log = createLog({
      format: "text",
      verbosity: 0,
      clock: systemClock,
      write: isLive || nodes > 20 ? () => undefined : write,
    });

    const stop = new AbortController();
    const world = await openSandbox({
      nodes,
      cloudLatency: milliseconds(wholeNumber("cloud-latency", given["cloud-latency"], 0)),
      faults: given.faults,
      port: wholeNumber("port", given.port, 0, 65_535),
      log,
      signal: stop.signal,
    }).catch((error: unknown) => {
      const isTaken = (error as { readonly code?: unknown } | null)?.code === "EADDRINUSE";
      if (isTaken)
        return fail(`Port ${given.port} is taken; give another one with --port, or 0 for any that is free.`);
      return fail(`It did not start: ${error instanceof Error ? error.message : error}`);
    });
    const started = systemClock.monotonic();
    const elapsed = () => systemClock.monotonic() - started;
    const chapters = storyOf(world, nodes);
    let current = 0;
    let pauseUntil = 0;

    const turnPage = (chapter: Chapter | undefined): void => {
      if (chapter === undefined || chapter.waitsFor() !== undefined) return;
      if (!isLive) write(`${(elapsed() / 1000).toFixed(1)} s: ${chapter.title}: done\n`);
      current += 1;
      // A moment to look at what there is before the next thing happens.
      pauseUntil = elapsed() + (isLive ? 3000 : 0);
    };
    const begun = new Set<Chapter>();
    const tick = (): void => {
      if (elapsed() < pauseUntil) return;
      const chapter = chapters[current];
      if (chapter !== undefined && !begun.has(chapter)) {
        begun.add(chapter);
        chapter.begin();
        if (!isLive) write(`${(elapsed() / 1000).toFixed(1)} s: ${chapter.title}\n`);
      }
      turnPage(chapter);
    };
    const draw = (): void => {
      const chapter = chapters[current];
      const isBegun = chapter !== undefined && begun.has(chapter);
      const scene = {
        chapter: (isBegun ? chapter : chapters[current - 1])?.title ?? "",
        waitsFor: isBegun ? chapter.waitsFor() : chapter && `a moment; then ${chapter.title}`,
        kubeconfig: world.kubeconfig,
        elapsedMs: elapsed(),
        nodes: world.manager.nodes.list(),
        machines: new Map(world.cloud.machines.list().map(({ name, status }) => [name, status])),
        services: world.manager.services.list().filter(({ spec }) => spec.type === "LoadBalancer"),
        routes: world.cloud.routes.list().length,
        cloudCalls: world.cloud.counts(),
        journal: world.manager.journal.entries(),
      };
      // A terminal that nobody has measured has no size.
      const rows = process.stdout.rows || 40;
      const columns = process.stdout.columns || 120;
      write(
        `\u001B[H${linesOf(scene, { rows, columns })
          .map((line) => `${line}\u001B[K`)
          .join("\n")}\u001B[J`,
      );
    };

    let code = 0;
    const end = (exitCode: number): void => {
      code = exitCode;
      stop.abort(new Error("asked to stop"));
    };
    // A script must not take "interrupted" for "settled".
    const isScript = given["until-settled"];
    process.on("SIGINT", () => end(isScript ? 130 : 0));
    process.on("SIGTERM", () => end(isScript ? 143 : 0));
    // The terminal was closed: nobody reads any more, and what lies in the temporary folder still has to go.
    process.on("SIGHUP", () => end(129));
    process.stdout.on("error", () => undefined);
    process.stderr.on("error", () => undefined);
    write(isLive ? "\u001B[?1049h\u001B[?25l" : `KUBECONFIG=${world.kubeconfig}\n`);
    const timer = setInterval(() => {
      tick();
      if (isLive) draw();
      if (!given["until-settled"]) return;
      if (current >= chapters.length && world.manager.isIdle()) {
        const calls = Object.values(world.cloud.counts()).reduce((sum, count) => sum + count, 0);
        write(`settled after ${(elapsed() / 1000).toFixed(1)} s with ${calls} cloud calls\n`);
        end(0);
      } else if (elapsed() > timeout) {
        write(
          `not settled after ${timeout / 1000} s: waits for ${chapters[current]?.waitsFor() ?? "queues to empty"}\n`,
        );
        end(1);
      }
    }, 100);
    try {
      await world.ended;
    } finally {
      clearInterval(timer);
      if (isLive) write("\u001B[?25h\u001B[?1049l");
    }
    process.exit(code);
  },
});

await runMain(main);
