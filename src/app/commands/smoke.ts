// `smoke`: tests a real account once, and removes the objects that it created.

import { messageOf } from "../../core/error-message.ts";
import { version } from "../build-info.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import { callOf } from "../operator.ts";
import type { Command } from "./command.ts";

export const smokeCommand: Command = {
  page: {
    name: "smoke",
    summary:
      "Test a real account: create a load balancer, a route and a volume, check and remove them, and write a report.",
    details: [
      "Pass the manager's cloud settings. smoke needs no cluster and no API server. It shows what it will create, and asks for confirmation; without a terminal it requires --yes.",
      "The load balancer and the volume have a random mark. Only objects with this mark, and the route from --route-range to --machine, are changed or deleted. smoke first records in the current folder what it may create. After Ctrl-C or a failure, it removes everything too; if objects remain, smoke names them, and removes them at its next start in this folder.",
    ],
    flags: ["yes", "machine", "route-range", "timeout", "file"],
    exitCodes: {
      "0": "every part passed, and everything is removed",
      "1": "refused or failed, or something is left in the cloud; the message says what to do",
      "3": "not confirmed; nothing was created",
    },
    examples: [
      { text: "Without a machine, in clouds that permit a load balancer without targets", words: "smoke" },
      {
        text: "All parts, with an existing machine and an unused range",
        words: "smoke --machine=worker-1 --route-range=10.254.254.0/28",
      },
    ],
  },
  requires: "settings",
  async run(invocation) {
    const { configuration, platform } = invocation;
    const { flags } = configuration.settings;
    const { clock, files } = platform;
    if (flags["route-range"] !== undefined && flags.machine === undefined) {
      invocation.refuse([invalidFlag("route-range", "requires --machine, to which the route leads")]);
      return;
    }
    const time = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const path = flags.file ?? `fairlead-smoke-${invocation.provider.name}-${time}.json`;
    if ((await files.version(path)) !== undefined) {
      invocation.refuse([invalidFlag("file", `${path} exists already; name another file, or delete it`)]);
      return;
    }
    if (/\.record\.json$/i.test(path)) {
      invocation.refuse([invalidFlag("file", `${path} is the name of a record; name another file`)]);
      return;
    }
    // Loaded here because the manager never creates such test objects.
    const [
      { cloudFor, composeRun, newRecord },
      { SmokePreview },
      { readRecord },
      { RequestCounts, smokeReport },
      { defaultTimeout },
      { earlierText, leftText, outcomeText, previewText },
    ] = await Promise.all([
      import("../../inspect/smoke/smoke.ts"),
      import("../../inspect/smoke/preview.ts"),
      import("../../inspect/smoke/record.ts"),
      import("../../inspect/smoke/report.ts"),
      import("../../inspect/smoke/smoke-run.ts"),
      import("../../inspect/smoke/smoke-text.ts"),
    ]);
    const { provider, program, console, signal } = invocation;
    const counts = new RequestCounts();
    const report = counts.add.bind(counts);
    const progress = (text: string): void => console.err(`${text}\n`);
    const { settings } = configuration;
    // Signals do not abort the test, so created objects are removed even after Ctrl-C.
    const life = new AbortController().signal;
    const operator = { provider, program, platform, configuration, settings, signal: life, userAgent: "" };
    if (!invocation.canConfirm) {
      invocation.writeError("nothing was created: there is no terminal to ask; run smoke again with --yes");
      invocation.exitCode = 3;
      return;
    }
    const isConfirmed = async (question: string): Promise<boolean> => {
      const isAgreed = await invocation.isConfirmed(question);
      if (isAgreed) return true;
      invocation.writeError("nothing was created");
      invocation.exitCode = 3;
      return false;
    };
    const earlier = await readRecord(files, provider.name);
    if (earlier !== undefined) {
      await console.out(earlierText(earlier));
      if (!(await isConfirmed("Remove what the earlier run left?"))) return;
      const removal = composeRun({ operator, record: earlier, place: undefined, report, progress });
      const left = await removal.notSeen().removeAll();
      if (left.length > 0) {
        await console.out(leftText(left, invocation.spokenName));
        invocation.writeError("nothing was created, because an earlier run left something");
        invocation.exitCode = 1;
        return;
      }
    }
    const empty = newRecord(operator);
    const reading = cloudFor(operator, empty, "read", report);
    const preview = await new SmokePreview(operator, reading, callOf(signal)).take(empty);
    await console.out(previewText(preview, flags.timeout ?? defaultTimeout));
    if (preview.record.open.length === 0) {
      invocation.writeError("nothing was created: this cloud has none of the parts");
      invocation.exitCode = 1;
      return;
    }
    if (!(await isConfirmed("Create these objects, which the cloud bills?"))) return;
    const { record, place, parts } = preview;
    const result = await composeRun({ operator, record, place, report, progress }).run(signal);
    const skipped = parts.flatMap(({ part, isSkipped }) =>
      isSkipped ? [{ part, result: "skipped" as const }] : [],
    );
    const all = [...result.parts, ...skipped];
    const facts = {
      cloud: provider.name,
      version,
      runtime: `Bun ${Bun.version}`,
      date: empty.startedAt.slice(0, 10),
      parts: all,
      steps: result.steps,
      requests: counts.all,
    };
    const written = smokeReport(facts, result.isInterrupted);
    const text = `${JSON.stringify(written, undefined, 2)}\n`;
    const problem = await files.write(path, text, 0o644).then(() => undefined, messageOf);
    await console.out(
      outcomeText(all, result, invocation.spokenName, problem === undefined ? path : undefined),
    );
    if (problem !== undefined) invocation.writeError(`the report was not written: ${problem}`);
    invocation.exitCode = written.result === "passed" && problem === undefined ? 0 : 1;
  },
};
