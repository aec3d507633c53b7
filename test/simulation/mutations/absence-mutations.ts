// Mutations of proof and doubt. Sequences of the model find the first ones, and a whole manager the others.

import type { FoundByTest, Mutation } from "./mutation.ts";

const kernel = "src/controllers/kernel";
const byModel = (model: string): FoundByTest => ({
  file: "test/model/absence-model.test.ts",
  test: `wait, hold and act as the model does: ${model}`,
});
const recovering = (test: string): FoundByTest => ({
  file: "test/controllers/kernel/recovering-cloud.test.ts",
  test,
});

export const absenceMutations: readonly Mutation[] = [
  {
    name: "keep-proofs-of-what-is-shown",
    breaks: "A load balancer that was shown in between is created again after two listings without it.",
    foundBy: byModel("balancers"),
    edits: [
      {
        file: `${kernel}/ledger.ts`,
        find: 'this.certainty = "exists";\n    this.proofs = none;',
        replace: 'this.certainty = "exists";',
      },
    ],
  },
  {
    name: "believe-lookups-right-after-a-change",
    breaks: "A lookup that lags behind a creation proves that the load balancer is absent.",
    foundBy: byModel("balancersWithLookups"),
    edits: [
      {
        file: `${kernel}/ledger.ts`,
        find: "lookup.beganAt - changedAt >= confirmAfter",
        replace: "lookup.beganAt - changedAt >= 0",
      },
    ],
  },
  {
    name: "keep-proofs-after-a-hold",
    breaks: "While a cloud recovers step by step, Nodes of machines that it shows last are deleted.",
    foundBy: byModel("nodes"),
    edits: [
      {
        file: `${kernel}/removal-limit.ts`,
        find: "{ endedAt: totalAtStart === undefined ? endedAt : now }",
        replace: "{ endedAt }",
      },
    ],
  },
  {
    name: "count-what-was-released",
    breaks: "A release does not end a hold for the other Nodes.",
    foundBy: byModel("nodes"),
    edits: [
      {
        file: `${kernel}/doubt.ts`,
        find: '    if (isReleased) return counted && "present";\n',
        replace: "",
      },
    ],
  },
  {
    name: "keep-proofs-after-a-contradiction",
    breaks:
      "When the cloud shows the machine of a Ready Node again, the Nodes that it held are deleted at once.",
    foundBy: recovering("shows 20 s after the machine of the Ready Node"),
    edits: [
      {
        file: `${kernel}/removal-limit.ts`,
        find: "(isHeld && absent + vanished > 0) || isContradicted === true",
        replace: "isHeld && absent + vanished > 0",
      },
    ],
  },
  {
    name: "overlook-a-node-whose-deletion-was-refused",
    breaks: "A Ready Node whose deletion was refused does not contradict a cloud that hides its machine.",
    foundBy: recovering("should have been deleted with it is Ready again"),
    edits: [{ file: `${kernel}/doubt.ts`, find: ' ?? this.#tally.example("kept")', replace: "" }],
  },
  {
    name: "begin-holds-only-with-a-question",
    breaks: "A listing that lacks too much begins no hold while all its Services are backing off.",
    foundBy: recovering("one listing lacked five load balancers and the next listing lacked two"),
    edits: [
      {
        file: `${kernel}/doubt.ts`,
        find: "this.invalidate();\n    this.verdict();",
        replace: "this.invalidate();\n    if (this.isHolding) this.verdict();",
      },
    ],
  },
  {
    name: "count-what-begins-a-hold-later",
    breaks: "What is paused right after the listing that began a hold does not count.",
    foundBy: recovering("three of five Services without a listed load balancer were paused"),
    edits: [
      {
        file: `${kernel}/doubt.ts`,
        find: 'if (this.isHolding) this.#tally.count("absent");',
        replace: "",
      },
    ],
  },
  {
    name: "begin-no-hold-before-the-cloud-has-answered",
    breaks:
      "When the cloud shows a first machine, a load balancer that it still hides is created again at once.",
    foundBy: recovering("shows for the first time, 15 s after it has shown a machine"),
    edits: [
      {
        file: `${kernel}/doubt.ts`,
        find: 'if (account !== "unanswered" || state.totalAtStart !== undefined) memory.state = state;',
        replace: 'if (account !== "unanswered") memory.state = state;',
      },
    ],
  },
];
