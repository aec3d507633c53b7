// `marks`: shows which clusters the marks of load balancers name, and moves them after a change of --cluster-name.

import { countOf } from "../../core/text.ts";
import type { ExitCode } from "../console.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Command } from "./command.ts";

export const marksCommand: Command = {
  page: {
    name: "marks",
    summary: "Show the clusters that load balancer marks name, and move marks to this cluster.",
    details: [
      "A manager never changes a load balancer whose mark names another cluster. After a start with a different --cluster-name, this includes all existing load balancers of the cluster. If the new name is a mistake, restore the former name. If the cluster was renamed, move the marks.",
      "A mark is moved only if all Services that it names exist in this cluster, by uid, and no manager leads. Only the mark changes.",
      "Do not move marks to a copy of a running cluster, such as a restored backup. Its Services have the same uids, so the copy would take over the original's load balancers.",
    ],
    flags: ["cluster-name", "move-from", "yes", "output", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "shown, or all were moved",
      "1": "refused, or something could not be listed or moved; the message says what to do",
      "3": "marks could be moved and were only shown: not confirmed",
    },
    examples: [
      { text: "Which names are in use", words: "marks --cluster-name=production" },
      { text: "After the cluster was renamed", words: "marks --cluster-name=production --move-from=prod" },
    ],
  },
  requires: "settings",
  async run(invocation) {
    const [{ marksText, movable, moveMarks, surveyMarks }, { leaderOf, readCluster }] = await Promise.all([
      import("../../inspect/cleanup/marks.ts"),
      import("../../inspect/cleanup/cluster-state.ts"),
    ]);
    const { configuration, program, console } = invocation;
    const { flags } = configuration.settings;
    const from = flags["move-from"];
    if (from !== undefined && from === flags["cluster-name"]) {
      invocation.refuse([invalidFlag("move-from", `must differ from --cluster-name, got ${from} for both`)]);
      return;
    }
    const operator = await invocation.operator("marks");
    const survey = await surveyMarks(operator);
    const commandLine = `${program} marks --cluster-name=${flags["cluster-name"]}`;
    await invocation.print(survey, marksText(survey, commandLine));
    if (survey.problems.length > 0) {
      invocation.exitCode = 1;
      return;
    }
    const found = from === undefined ? [] : movable(survey, from);
    if (from === undefined || found.length === 0) return;
    const refuse = (exitCode: ExitCode, text: string): void => {
      invocation.writeError(`no mark was moved: ${text}`);
      invocation.exitCode = exitCode;
    };
    if (survey.cannotMove !== undefined) return refuse(1, survey.cannotMove);
    const question = `Move the ${found.length === 1 ? "mark" : "marks"} of ${countOf(found.length, "load balancer")} from ${from} to ${survey.cluster}?`;
    if (!invocation.canConfirm) return refuse(3, "to move them, run the command again with --yes");
    const unled = await readCluster(operator);
    if (unled.kind !== "read")
      return refuse(1, `the API server no longer answers (${unled.why}). Run the command again`);
    const leader = await leaderOf(operator, unled);
    if (leader !== undefined)
      return refuse(1, `the manager ${leader} leads. Stop it, move the marks, and start it again`);
    if (!(await invocation.isConfirmed(question))) return refuse(3, "not confirmed");
    const { moved, failed } = await moveMarks(operator, unled, found, from, (text) =>
      console.err(`${text}\n`),
    );
    await invocation.printOutcome(
      `Moved the marks of ${countOf(moved.length, "load balancer")} from ${from} to ${survey.cluster}.\n`,
    );
    for (const { name, why } of failed) invocation.writeError(`the mark of ${name} was not moved: ${why}`);
    invocation.exitCode = failed.length > 0 ? 1 : 0;
  },
};
