// Mutations that remove protections of routes.

import type { Mutation } from "./mutation.ts";

export const routeMutations: readonly Mutation[] = [
  {
    name: "forget-the-route-beside-a-duplicate",
    breaks: "A route is created again without a proof when a superfluous one beside it was removed.",
    foundBy: {
      file: "test/controllers/route/route-replaced.test.ts",
      test: "routes whose duplicates were removed stay",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: "for (const key of this.#taken) {",
        replace: "for (const key of history.ledgers.keys()) {",
      },
    ],
  },
  {
    name: "explain-a-vanished-node-by-another-one",
    breaks:
      "The route of a Node that vanished is removed because another one with the same range was deleted.",
    foundBy: {
      file: "test/controllers/route/route-replaced.test.ts",
      test: "the deletion of a Node does not explain",
    },
    edits: [
      {
        file: "src/controllers/route/seen-deletions.ts",
        find: 'if (!isSeen) this.#add(range, "vanished");',
        replace: "if (!isSeen) continue;",
      },
    ],
  },
  {
    name: "forget-an-uncertain-route-with-its-node",
    breaks:
      "A Node that is registered again gets a second route, and a late route of a Node that is gone stays.",
    foundBy: {
      file: "test/controllers/route/route-replaced.test.ts",
      test: "a Node that is registered again after an uncertain creation",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: "now - sentAt < lateEffect",
        replace: "false",
      },
    ],
  },
  {
    name: "believe-one-listing-of-routes",
    breaks: "One listing proves that a route is absent, and any number may be absent.",
    foundBy: { invariants: [18, 19], seed: 5 },
    edits: [
      {
        file: "src/controllers/route/allow/route-guard.ts",
        find: "verdict: verdictOn(candidate,",
        replace: 'verdict: route !== undefined ? "ready" : verdictOn(candidate,',
      },
    ],
  },
  {
    name: "take-repeated-routes-for-second-ones",
    breaks: "A route that a listing repeats looks like a superfluous second one.",
    foundBy: { invariants: [18, 10], seed: 26 },
    edits: [
      {
        file: "src/cloud/own-route-changes.ts",
        find: "if (seen.has(identity)) return false;",
        replace: "",
      },
    ],
  },
  {
    name: "keep-route-to-old-machine",
    breaks: "A Node that was created again keeps the route to the machine of its predecessor.",
    foundBy: { invariants: [13], seed: 1 },
    edits: [
      {
        file: "src/controllers/route/plan/plan.ts",
        find: "const right = routes.filter(leadsTo(winner));",
        replace: "const right = routes;",
      },
    ],
  },
  {
    name: "believe-a-removal-of-a-route",
    breaks: "A route whose removal had no effect stays until the next full check.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "repeats the removal of a route that still exists 30 s later",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: "removalCheck > this.#lastListing",
        replace: "removalCheck > Number.POSITIVE_INFINITY",
      },
    ],
  },
  {
    name: "forget-routes-of-paused-nodes",
    breaks: "Routes of paused Nodes that a listing lacks do not count.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "absent routes of paused Nodes count towards the limit, and are known when the Nodes are resumed",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-guard.ts",
        find: "desired.unchanged.filter(hadRoutes)",
        replace: "desired.waiting.filter(hadRoutes)",
      },
    ],
  },
  {
    name: "forget-routes-that-a-lost-lease-cut-off",
    breaks: "A route whose creation the end of a session cut off is created again at once.",
    foundBy: {
      file: "test/controllers/route/route-faults.long.test.ts",
      test: "does not repeat a creation that the end of its session interrupted while listings lack the route",
    },
    edits: [
      {
        file: "src/controllers/route/reconcile/table-sync.ts",
        find: "this.#guard.evidence.noteResults(",
        replace: "if (!signal.aborted) this.#guard.evidence.noteResults(",
      },
    ],
  },
  {
    name: "believe-a-listing-for-a-route-that-was-created-before",
    breaks:
      "A route that was created again may be created once more while listings lack those of most Nodes.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "absent routes of Nodes without an instance count towards the limit even if another route was recreated before",
    },
    edits: [
      {
        file: "src/controllers/route/allow/allowed-changes.ts",
        find: 'absent === "route" && !isReleased',
        replace: 'absent === "route" && !isReleased && lost.length > 0',
      },
    ],
  },
  {
    name: "prove-the-absence-of-a-replaced-route",
    breaks: "Routes that Fairlead removed to replace them count as lost, so that too many are held.",
    foundBy: {
      file: "test/controllers/route/route-operations.test.ts",
      test: "creates routes that operations replace immediately, without counting them towards a limit",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: 'if (kind !== "failed") this.#noteRemoved(',
        replace: 'if (kind === "fenced") this.#noteRemoved(',
      },
    ],
  },
  {
    name: "believe-listings-from-before-an-operation-was-lost",
    breaks: "Listings that lack a route while the cloud still works on it prove that it is absent.",
    foundBy: { invariants: [18], seed: 3, operations: true },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: 'if (kind === "lost") this.#noteUncertain(route);',
        replace: "",
      },
    ],
  },
  {
    name: "forget-routes-that-the-cloud-still-works-on",
    breaks: "A route that the cloud works on for an earlier session is created again at once.",
    foundBy: {
      file: "test/controllers/route/route-sessions.test.ts",
      test: "the next session of the process does not recreate a route that the cloud is still creating without an operation id",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: 'else if (outcome.kind === "pending") this',
        replace: 'else if (outcome.kind === "fenced") this',
      },
    ],
  },
  {
    name: "create-routes-again-after-a-takeover",
    breaks:
      "A route that the former leader requested just before it ended, and that listings lack, is created again.",
    foundBy: { invariants: [18], seed: 80000260, lookups: true, operations: true },
    edits: [
      {
        file: "src/controllers/route/history.ts",
        find: "!this.#hasOtherLed()",
        replace: "true",
      },
    ],
  },
  {
    name: "count-routes-that-were-just-created",
    breaks: "A listing that lags behind the creation of many routes holds all others.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "recreates a lost route although listings lack many that were just created",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: "isLost(this.judge(route)) && !isJustChanged(this.#ledgerOf(route), this.#confirmAfter)",
        replace: "isLost(this.judge(route))",
      },
    ],
  },
  {
    name: "repeat-a-late-replacement-without-proof",
    breaks: "A replacement of a route that may have had an effect is repeated at once, however late.",
    foundBy: {
      file: "test/controllers/route/route-one-by-one.test.ts",
      test: "repeats a replacement that may have had an effect long after the removal only after a proof of absence",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-evidence.ts",
        find: "replacementTime: Milliseconds = seconds(45)",
        replace: "replacementTime: Milliseconds = seconds(3600)",
      },
    ],
  },
  {
    name: "change-routes-that-were-decided-before-they-were-stored",
    breaks: "A Node that returns while the removal of its route is stored loses the route.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "a Node that returns while the removal of its route is stored keeps the route",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-guard.ts",
        find: '=== "decide again") return "decide again";',
        replace: '=== undefined) return "decide again";',
      },
    ],
  },
  {
    name: "doubt-routes-that-a-listing-has-shown-since",
    breaks: "A hold of routes counts for ever what a listing has shown again.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "routes that a listing has shown since the hold do not count as absent",
    },
    edits: [
      {
        file: "src/controllers/route/allow/route-guard.ts",
        find: "else history.doubted = history.doubted.difference(listing.destinations);",
        replace: "",
      },
    ],
  },
];
