// Mutations of protections that all controllers share.

import { type Mutation, scripted } from "./mutation.ts";

export const kernelMutations: readonly Mutation[] = [
  {
    name: "count-what-an-operator-released",
    breaks: "Objects that an operator released hold the next one that is absent.",
    foundBy: {
      file: "test/controllers/kernel/released-objects.test.ts",
      test: "objects that an operator released do not count as absent",
    },
    edits: [
      {
        file: "src/controllers/kernel/doubt.ts",
        find: 'if (isReleased) return counted && "present";',
        replace: "",
      },
    ],
  },
  {
    name: "keep-a-hold-that-another-leader-may-have-ended",
    breaks: "A hold from before another process led counts objects that have been there again.",
    foundBy: {
      file: "test/controllers/node-lifecycle/lifecycle-history.test.ts",
      test: "a hold lasts into the next session of the process",
    },
    edits: [{ file: "src/controllers/kernel/removal-limit.ts", find: "this.counted.clear();", replace: "" }],
  },
  {
    name: "trust-credentials-that-show-nothing",
    breaks: "With credentials of another project, a small cluster gets its load balancers there.",
    foundBy: { invariants: [18], seed: 6 },
    edits: [
      {
        file: "src/controllers/kernel/doubt.ts",
        find: "isOff ? undefined : removals.account.doubt",
        replace: "undefined",
      },
    ],
  },
  {
    name: "keep-the-proof-of-former-credentials",
    breaks:
      "After a reload to credentials of another project, a small cluster gets its load balancers there.",
    foundBy: {
      file: "test/controllers/kernel/account-proof.long.test.ts",
      test: "changes nothing after a reload to credentials of another project",
    },
    edits: [
      {
        file: "src/controllers/kernel/account-proof.ts",
        find: 'this.#since = since;\n    this.#set("unanswered");',
        replace: "this.#since = since;",
      },
    ],
  },
  {
    name: "vouch-for-an-account-with-what-was-made-in-doubt",
    breaks:
      "After a new session, the load balancer of a new Service in another project ends the doubt about it.",
    foundBy: { invariants: [18], seed: 29 },
    edits: [
      {
        file: "src/controllers/kernel/account-proof.ts",
        find: "if (this.doubt === undefined) this.#recordedBy = since;",
        replace: "this.#recordedBy = since;",
      },
    ],
  },
  {
    name: "store-a-repeated-removal-only-once",
    breaks: "The next leader forgets a removal too early that was repeated just before a crash.",
    foundBy: {
      file: "test/controllers/kernel/removal-memory.test.ts",
      test: "stores a removal again if it is repeated minutes later",
    },
    edits: [
      {
        file: "src/controllers/kernel/removal-memory.ts",
        find: "&& this.#clock.monotonic() - removal.at <= storedFor",
        replace: "",
      },
    ],
  },
  {
    name: "count-one-answer-twice",
    breaks: "An answer of the same moment is accepted as the second proof.",
    foundBy: { invariants: [1, 18], seed: 3 },
    edits: [
      {
        file: "src/controllers/kernel/proof.ts",
        find: "Math.max(first.knownAt, restartedAt) + confirmAfter",
        replace: "first.beganAt",
      },
    ],
  },
  {
    name: "believe-lookups-right-after-a-hold",
    breaks: "While a cloud recovers step by step, what it shows last is created again.",
    foundBy: {
      file: "test/controllers/service/service-absence-sequences.test.ts",
      test: "waits for a proof when lookups still lack two of 20 load balancers that a hold has kept",
    },
    edits: [
      {
        file: "src/controllers/kernel/proof.ts",
        find: "notFoundAt - (rule.restartedAt ?? never) >= rule.confirmAfter",
        replace: "notFoundAt >= (rule.restartedAt ?? never)",
      },
    ],
  },
  {
    name: "forget-removals",
    breaks: "A new leader does not load the removals of its predecessor from the Lease.",
    foundBy: { invariants: [2, 19], seed: 58 },
    edits: [
      {
        file: "src/controllers/kernel/removal-memory.ts",
        find: "const added = stored.filter(",
        replace: "const added = stored.slice(0, 0).filter(",
      },
    ],
  },
  {
    name: "remove-before-it-is-stored",
    breaks: "A removal is applied before it is stored on the Lease.",
    foundBy: scripted("no Node is deleted before its removal is stored"),
    edits: [
      {
        file: "src/controllers/kernel/doubt.ts",
        find: 'await storing;\n    return "decide again";',
        replace: 'storing.catch(() => undefined);\n    return "recorded";',
      },
    ],
  },
  {
    name: "keep-own-writes-after-a-restore",
    breaks: "The overlay of own writes survives a complete list with lower versions.",
    foundBy: scripted("a Service gets its address again after the API server lost the write"),
    edits: [
      {
        file: "src/controllers/latest-objects.ts",
        find: "else this.#forgetBeforeList();",
        replace: "",
      },
    ],
  },
  {
    name: "overlook-a-restored-server",
    breaks: "A leader whose Lease became older than it wrote it keeps its caches.",
    foundBy: scripted("a Service gets its address again after the API server lost the write"),
    edits: [
      {
        file: "src/kube/leader-election/lease-lock.ts",
        find: "this.#isRestored ||= this.#proof !== undefined && this.#isOlder(lease);",
        replace: "",
      },
    ],
  },
  {
    name: "act-on-old-caches",
    breaks: "A new leader acts on the caches of the standby replica that it was.",
    foundBy: scripted("a new leader whose watches were silent changes nothing"),
    edits: [
      {
        file: "src/app/leadership/current-caches.ts",
        find: "this.#list(cache, since, signal)",
        replace: "this.#list(cache, next === due ? 0 : since, signal)",
      },
    ],
  },
  {
    name: "lead-without-lists",
    breaks: "A leader that can list nothing renews its Lease for ever.",
    foundBy: {
      file: "test/app/takeover.long.test.ts",
      test: "a leader whose lists fail for five minutes steps down even if it had complete lists at first",
    },
    edits: [
      {
        file: "src/app/leadership/current-caches.ts",
        find: "this.#makeCurrent(due, stepDown && patience, signal);",
        replace: "this.#makeCurrent(due, undefined, signal);",
      },
    ],
  },
  {
    name: "explain-absences-by-deletions",
    breaks:
      "A new leader takes what listings lack of deleted Services for deleted, although they lack others too.",
    foundBy: {
      file: "test/controllers/service/service-mass-limit.long.test.ts",
      test: "Services that are deleted during a hold do not end it for the next leader",
    },
    edits: [
      {
        file: "src/controllers/kernel/doubt.ts",
        find: "absent: absent > 0 ? absent + explained : 0,",
        replace: "absent: explained >= 0 ? absent : 0,",
      },
    ],
  },
  {
    name: "keep-own-times-of-removals",
    breaks: "A leader that led before counts a removal by its own old time.",
    foundBy: {
      file: "test/controllers/kernel/removal-memory.test.ts",
      test: "stored removals get the time of another leader that has repeated the change",
    },
    edits: [
      {
        file: "src/controllers/kernel/removal-memory.ts",
        find: 'by === "another" && now - age > known.at',
        replace: 'by === "another" && now - age < 0',
      },
    ],
  },
  {
    name: "doubt-the-address-of-another-leader",
    breaks:
      "A load balancer that another leader created only may exist, so its loss does not count for the mass limit.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "an object that may exist counts as existing when its Service has an address from another leader",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: 'if (this.certainty !== "exists") this.certainty = certainty;',
        replace: "this.certainty ??= certainty;",
      },
    ],
  },
  {
    name: "believe-a-lookup-just-after-a-takeover",
    breaks: "A lookup that lags behind the last request of the former leader proves that it created nothing.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "a lookup soon after the start of a session proves nothing about an object that",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: "this.expectedAt = at;",
        replace: "",
      },
    ],
  },
  {
    name: "doubt-a-request-of-a-former-leader-for-ever",
    breaks: "A route that a former leader may have requested is held as long as listings lack others.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "an object that only a former leader may have created counts as new after ten minutes",
    },
    edits: [
      {
        file: "src/controllers/kernel/proof.ts",
        find: "expectedAt !== undefined && !isJustChanged",
        replace: "expectedAt === null && !isJustChanged",
      },
    ],
  },
  {
    name: "believe-listings-from-before-a-busy-refusal",
    breaks: "A route that the cloud still creates for a former leader is created a second time.",
    foundBy: {
      file: "test/controllers/route/route-operations.test.ts",
      test: "after a takeover, creates a route that the cloud rejects as busy only after another proof of absence",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: "if (!this.isTrace || this.certainty === undefined) return;",
        replace: "if (this.isTrace) return;",
      },
    ],
  },
  {
    name: "keep-proofs-across-sessions",
    breaks: "Answers of a former session, perhaps from another account, complete a proof of this one.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "a new session keeps the known objects, but no proof",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: "restart(): void {\n    this.proofs = none;",
        replace: "restart(): void {",
      },
    ],
  },
  {
    name: "believe-a-second-answer-at-once",
    breaks: "Two answers of one moment prove that a volume or a snapshot is gone.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "a recorded object counts as absent after a second, later answer",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: "confirmAfter: settings.confirmAfter, kinds: []",
        replace: "confirmAfter: milliseconds(1), kinds: []",
      },
    ],
  },
];
