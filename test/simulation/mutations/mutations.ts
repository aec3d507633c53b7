// Mutations of src: each removes one protection. The simulation must find each of them, which proves that its faults and checks
// still work.

import type { Variants } from "../variants.ts";
import { absenceMutations } from "./absence-mutations.ts";
import { cloudMutations } from "./cloud-mutations.ts";
import { perturbationMutations } from "./perturbation-mutations.ts";
import { volumeMutations } from "./volume-mutations.ts";

export interface Mutation {
  readonly name: string;
  /** What no longer works. */
  readonly breaks: string;
  readonly foundBy: FoundBySimulation | FoundByTest;
  readonly edits: readonly Edit[];
}

export interface FoundBySimulation extends Variants {
  /** The invariants that it may violate. */
  readonly invariants: readonly number[];
  /** The first seed that found it. */
  readonly seed: number;
}

/** For what the faults of a seed cannot do, or meet rarely. Other worlds have random faults, too. */
export interface FoundByTest {
  readonly file: string;
  /** The part of the title that names the test. */
  readonly test: string;
}

/** `find` occurs exactly once in the file. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const scripted = (test: string): FoundByTest => ({
  file: "test/simulation/scripted-worlds.long.test.ts",
  test,
});

const planOutOfService = "src/controllers/node-lifecycle/plan-out-of-service.ts";
const outOfService = { file: "test/controllers/node-lifecycle/out-of-service.test.ts" };
const betweenManagers = (test: string): FoundByTest => ({
  file: "test/controllers/service/service-classes.test.ts",
  test,
});

export const mutations: readonly Mutation[] = [
  ...volumeMutations,
  ...cloudMutations,
  ...perturbationMutations,
  ...absenceMutations,
  {
    name: "evict-pods-although-all-machines-are-off",
    breaks: "A cloud that shows all machines as stopped has the pods of NotReady Nodes evicted.",
    foundBy: { invariants: [30], seed: 2, stops: true },
    edits: [
      {
        file: planOutOfService,
        find: "input.isReleased ? free : input.outOfServiceDoubt()",
        replace: "free",
      },
    ],
  },
  {
    name: "evict-pods-by-one-kind-of-answer",
    breaks: "Listings that show a running machine as stopped have its pods evicted.",
    foundBy: { invariants: [30], seed: 2, stops: true },
    edits: [
      {
        file: planOutOfService,
        find: 'isUnlisted ? kinds.filter((kind) => kind !== "listing") : kinds',
        replace: "isUnlisted ? [] : kinds.slice(kinds.length)",
      },
    ],
  },
  {
    name: "evict-pods-after-one-answer",
    breaks: "A machine that is shown as stopped for a moment has its pods evicted.",
    foundBy: { ...outOfService, test: "for less than the confirmation time" },
    edits: [
      {
        file: planOutOfService,
        find: "Math.max(1, settings.confirmAfter)",
        replace: "Math.min(0, settings.confirmAfter)",
      },
    ],
  },
  {
    name: "evict-pods-of-a-ready-node",
    breaks: "A Node that became Ready unseen has its pods evicted.",
    foundBy: { ...outOfService, test: "has become Ready unseen" },
    edits: [
      {
        file: "src/controllers/node-lifecycle/apply.ts",
        find: "isUnchanged: isSet,",
        replace: "isUnchanged: false,",
      },
    ],
  },
  {
    name: "remove-an-administrators-taint",
    breaks: "The taint out-of-service that an administrator set is removed when the machine runs.",
    foundBy: { ...outOfService, test: "an out-of-service taint that was set again by hand" },
    edits: [
      {
        file: "src/controllers/node-facts.ts",
        find: "timeAdded === since",
        replace: "timeAdded !== String(since)",
      },
    ],
  },
  {
    name: "evict-pods-by-an-old-proof",
    breaks: "A Node gets the out-of-service taint by answers from before a hold that has ended just now.",
    foundBy: {
      file: "test/controllers/node-lifecycle/plan-out-of-service.test.ts",
      test: "needs another answer when the last one is older than 30 s",
    },
    edits: [
      {
        file: planOutOfService,
        find: "if (!isRecent({ proofs }, now)) return",
        replace: "if (!isRecent({ proofs }, now) && false) return",
      },
    ],
  },
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
    name: "count-nodes-that-an-operator-confirmed",
    breaks: "A hold goes on although an operator has confirmed the deletion of the Nodes that it counted.",
    foundBy: {
      file: "test/controllers/node-lifecycle/census.test.ts",
      test: "a hold no longer counts a Node whose deletion an operator confirms",
    },
    edits: [
      {
        file: "src/controllers/node-lifecycle/allow.ts",
        find: 'if (isConfirmed(node)) return "present";',
        replace: "",
      },
    ],
  },
  {
    name: "forget-a-hold-in-each-session",
    breaks: "A hold ends, and its limit grows, when the same process leads again.",
    foundBy: {
      file: "test/controllers/node-lifecycle/lifecycle-history.test.ts",
      test: "a hold lasts into the next session of the process",
    },
    edits: [
      {
        file: "src/controllers/node-lifecycle/history.ts",
        find: "if (!this.#hasOtherLed()) return;",
        replace: "this.#hasOtherLed();",
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
    name: "vouch-for-an-account-with-what-it-made",
    breaks:
      "A new Service in another project ends the doubt, and the other load balancers are created there.",
    foundBy: {
      file: "test/controllers/kernel/account-proof.long.test.ts",
      test: "creates the load balancer of a new Service in another project, which does not confirm the account",
    },
    edits: [
      {
        file: "src/controllers/service/observe/evidence-updates.ts",
        find: " && (evidence.changedAt ?? never) <= recordedBy",
        replace: "",
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
        find: 'this.#set("unanswered");\n  }\n\n  /** An operator',
        replace: "}\n\n  /** An operator",
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
    name: "manage-a-duplicate-after-a-change",
    breaks:
      "A duplicate that a listing shows alone just after a change replaces the load balancer of a Service.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "a duplicate that a listing shows alone after",
    },
    edits: [
      {
        file: "src/controllers/service/state/service-record.ts",
        find: "if (isReplaced || mayBeRenamed) session.managed",
        replace: "if (isReplaced || true) session.managed",
      },
    ],
  },
  {
    name: "manage-a-duplicate-at-first-sight",
    breaks:
      "A duplicate that the first listing of a leader shows alone replaces the load balancer of a Service.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "that the first listing of a leader shows alone",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "if (change !== undefined || service === undefined) return false;",
        replace: "if (change !== undefined || service !== null) return false;",
      },
    ],
  },
  {
    name: "believe-listings-during-a-lost-operation",
    breaks: "A load balancer is created twice that a lost operation creates late.",
    foundBy: {
      file: "test/controllers/service/service-created-but-not-listed.test.ts",
      test: "that a lost operation creates late",
    },
    edits: [
      {
        file: "src/controllers/service/state/service-record.ts",
        find: 'if (result === "lost") {',
        replace: 'if (result === "lost") return;\n    if (result === ("never" as string)) {',
      },
    ],
  },
  {
    name: "read-the-cluster-once-in-a-round",
    breaks: "A round of cleanup goes on after a manager has begun to lead.",
    foundBy: {
      file: "test/inspect/cleanup/cleanup-command.test.ts",
      test: "later in the same round when a manager begins to lead",
    },
    edits: [
      {
        file: "src/inspect/cleanup/delete-leftovers.ts",
        find: "const now = { ...survey, cluster: await this.#readCluster() };",
        replace: "const now = { ...survey, cluster: (this.first ??= await this.#readCluster()) };",
      },
    ],
  },
  {
    name: "manage-a-ready-duplicate",
    breaks:
      "While the cloud changes a load balancer, its duplicate is managed, and the address of the Service changes.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "the same leader keeps the address",
    },
    edits: [
      {
        file: "src/controllers/service/observe/ownership.ts",
        find: "candidates.find(isInUse) ?? candidates.find(isManaged)",
        replace: "candidates.find(isInUse)",
      },
      {
        file: "src/controllers/service/observe/ownership.ts",
        find: "candidates.filter((one) => !isOther(one))",
        replace: "candidates",
      },
    ],
  },
  {
    name: "release-a-service-by-its-duplicate",
    breaks: "A new leader removes the finalizer after the first listing, which shows only a duplicate.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "is deleted keeps its finalizer when the first listing",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "if (change !== undefined || service === undefined) return false;",
        replace:
          "if (change !== undefined || service?.metadata.deletionTimestamp !== undefined) return false;\n  if (service === undefined) return false;",
      },
    ],
  },
  {
    name: "remove-what-has-returned",
    breaks: "The load balancer of a Service that is back since the reconcile began is removed.",
    foundBy: {
      file: "test/controllers/service/service-returns.test.ts",
      test: "returns while its load balancer is looked up",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/reconcile.ts",
        find: 'return context.state.phase !== "leaving";',
        replace: "return false;",
      },
    ],
  },
  {
    name: "delete-what-an-uncertain-mark-names",
    breaks:
      "The load balancer of a Service that is gone is deleted although its mark leaves open whose it is.",
    foundBy: {
      file: "test/providers/digitalocean/disowned.test.ts",
      test: "a load balancer stays whose disowning Service vanishes",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/choose-steps.ts",
        find: "observed?.owners.some((uid) => uid !== state.uid) === true;",
        replace: "false && observed !== undefined;",
      },
    ],
  },
  {
    name: "remove-what-is-wanted-again",
    breaks: "A load balancer is removed although a user wants it again since the reconcile began.",
    foundBy: {
      file: "test/controllers/service/service-concurrent-edits.test.ts",
      test: "needs again during lookup",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/reconcile.ts",
        find: "latest?.metadata.uid === context.state.uid && !isEnding(latest, context.controller.classes);",
        replace: "latest?.metadata.uid === context.state.uid && isBeingDeleted(latest);",
      },
    ],
  },
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
    name: "believe-that-a-returned-service-has-nothing",
    breaks:
      "A Service that the API server had lost shows no trace of its load balancer but the finalizer, which counts for nothing.",
    foundBy: {
      file: "test/controllers/service/observe/evidence-updates.test.ts",
      test: "a Service that returns with the finalizer",
    },
    edits: [
      {
        file: "src/controllers/service/observe/evidence-updates.ts",
        find: "|| this.#hasReturned(service)",
        replace: "",
      },
    ],
  },
  {
    name: "believe-that-a-listed-node-had-no-predecessor",
    breaks: "A Node gets the id of a machine whose Node existed only while the watch was interrupted.",
    foundBy: {
      file: "test/controllers/node/node-recreated.test.ts",
      test: "existed only while the watch was interrupted",
    },
    edits: [
      {
        file: "src/controllers/node/used-names.ts",
        find: "isFromList === true &&",
        replace: "isFromList === true && false &&",
      },
    ],
  },
  {
    name: "evict-pods-for-users-of-the-cloud",
    breaks: "A label of a machine gives its Node a taint that ends pods.",
    foundBy: { file: "test/simulation/cloud-labels.test.ts", test: "and get no NoExecute" },
    edits: [
      {
        file: "src/controllers/node/desired/cloud-taints.ts",
        find: "(NoSchedule|PreferNoSchedule)$/",
        replace: "(NoSchedule|PreferNoSchedule|NoExecute)$/",
      },
    ],
  },
  {
    name: "remove-labels-that-a-kubelet-may-not",
    breaks: "A kubelet has Fairlead remove a label of its Node that it may not remove itself.",
    foundBy: {
      file: "test/controllers/node/cloud-labels.test.ts",
      test: "the record in a Node's annotation never removes",
    },
    edits: [
      {
        file: "src/controllers/node/desired/labels.ts",
        find: "isOpen(key, input) &&",
        replace: "key.length > 0 &&",
      },
    ],
  },
  {
    name: "initialize-without-the-written-addresses",
    breaks:
      "A Node loses its taint although the API server was restored from a backup without its addresses.",
    foundBy: {
      file: "test/controllers/node/node-races.test.ts",
      test: "removes the uninitialized taint only from a Node that still has the written addresses",
    },
    edits: [
      {
        file: "src/kube/patches/node-patch.ts",
        find: "...(toAddresses.length === 0 ?",
        replace: "...(toAddresses.length >= 0 ?",
      },
    ],
  },
  {
    name: "believe-one-listing-of-balancers",
    breaks: "One listing proves that a load balancer is absent.",
    foundBy: { invariants: [18, 5], seed: 8 },
    edits: [
      {
        file: "src/controllers/service/observe/balancer-absence.ts",
        find: "judge(known, { confirmAfter,",
        replace: "judge(known, { confirmAfter: 0 as Milliseconds,",
      },
    ],
  },
  {
    name: "no-limit-for-vanished-services",
    breaks: "Any number of Services may vanish from the API with their load balancers.",
    foundBy: {
      file: "test/controllers/service/service-mass-limit.long.test.ts",
      test: "20 Services that vanish within 10 s keep their load balancers",
    },
    edits: [
      {
        file: "src/controllers/service/observe/balancer-census.ts",
        find: 'if (isShown && isVanished) return "vanished";',
        replace: 'if (isShown && isVanished) return "present";',
      },
    ],
  },
  {
    name: "wait-for-a-listing-that-nothing-requests",
    breaks: "A Service that became known after the last listing waits for a time that moves.",
    foundBy: { invariants: [26], seed: 8 },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "if (found.balancer === undefined) evidenceUpdates.noteAgain(state);",
        replace: "",
      },
      {
        file: "src/controllers/service/reconcile/allow.ts",
        find: "listedAt: inventory.knownAt,",
        replace: "listedAt: controller.clock.monotonic(),",
      },
      {
        file: "src/controllers/service/reconcile/complete.ts",
        find: "context.evidenceUpdates.forgetFinalizer(state.uid);",
        replace: "",
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
    name: "hold-nodes-silently",
    breaks: "No event says that the mass limit holds a Node.",
    foundBy: { invariants: [23], seed: 2 },
    edits: [
      {
        file: "src/controllers/node-lifecycle/controller.ts",
        find: 'this.#reporter.report(node, "hold", [{ ...problem, identity: reason }]);',
        replace: 'this.#history.board.put(node, "hold", [problem]);',
      },
    ],
  },
  {
    name: "believe-a-listing-that-a-ready-node-contradicts",
    breaks:
      "A Node whose machine is hidden is deleted, although a Ready Node shows that the listing lacks machines.",
    foundBy: scripted("a Node whose machine is hidden from a new leader stays"),
    edits: [
      {
        file: "src/controllers/node-lifecycle/allow.ts",
        find: 'isAbsent && isReady(node) && !this.#isReplaced(node) ? "contradicted" : "absent"',
        replace: '"absent"',
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
    name: "believe-a-deletion",
    breaks:
      "After a deletion that the cloud reports as done, one listing proves that the load balancer is gone.",
    foundBy: {
      file: "test/controllers/service/service-deletion-proof.test.ts",
      test: "keeps the finalizer when a deletion had no effect",
    },
    edits: [
      {
        file: "src/controllers/service/state/service-record.ts",
        find: "      if (isGone) evidence.noteRemoved(at);\n",
        replace: "      if (isGone || at > 0) evidence.noteRemoved(at);\n",
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
    name: "take-missing-services-for-deleted",
    breaks: "A Service without finalizers that a new list lacks counts as one whose deletion was seen.",
    foundBy: { invariants: [19], seed: 17 },
    edits: [
      {
        file: "src/controllers/service/triggers/relevant-change.ts",
        find: "length === 0 && isFromList !== true;",
        replace: "length === 0;",
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
    name: "leave-finalizer-of-a-class",
    breaks: "A Service that gets a class while its load balancer is deleted keeps the finalizer.",
    foundBy: scripted("a Service that gets a class while its load balancer is deleted"),
    edits: [
      {
        file: "src/controllers/service/triggers/service-tracking.ts",
        find: " || this.#hasOwnTraces(service);",
        replace: ";",
      },
    ],
  },
  {
    name: "remove-what-a-manager-of-another-class-has",
    breaks:
      "A manager of one class deletes the load balancers of the Go manager that it lists in the same account.",
    foundBy: betweenManagers("each of two managers serves its own Services"),
    edits: [
      {
        file: "src/controllers/service/triggers/service-tracking.ts",
        find: " || !mayOwnBalancer(service, controller.classes)",
        replace: "",
      },
    ],
  },
  {
    name: "share-the-finalizer-between-classes",
    breaks: "A manager removes the finalizer of a Service whose load balancer another manager still has.",
    foundBy: betweenManagers("does not clean up a ClusterIP Service"),
    edits: [
      {
        file: "src/controllers/service/served-classes.ts",
        find: "[name, finalizerOfClass(name)] as const",
        replace: "[name, finalizer] as const",
      },
    ],
  },
  {
    name: "manage-what-is-served-elsewhere",
    breaks:
      "A Service that its annotations give to another controller gets the failures of Fairlead's listings.",
    foundBy: {
      file: "test/providers/aws/served-elsewhere.test.ts",
      test: "reports no event for such a Service while load balancers cannot be listed",
    },
    edits: [
      {
        file: "src/controllers/service/triggers/service-tracking.ts",
        find: "isManaged(service, classes) && !this.#isServedElsewhere(service)",
        replace: "isManaged(service, classes)",
      },
    ],
  },
  {
    name: "keep-proofs-for-a-name",
    breaks: "The proofs that the instance of a Node is gone count for its successor of the same name.",
    foundBy: scripted("the proofs about a Node do not apply to its successor"),
    edits: [
      {
        file: "src/controllers/node-lifecycle/candidates.ts",
        find: "if (before?.subject === subject) return before;",
        replace: "if (before !== undefined) return before;",
      },
    ],
  },
  {
    name: "remove-targets-of-vanished-nodes",
    breaks: "Load balancers lose the targets of Nodes that a restored etcd does not have.",
    foundBy: scripted("a load balancer keeps the targets of Nodes that vanished"),
    edits: [
      {
        file: "src/controllers/service/targets/vanished-nodes.ts",
        find: "return targets === 0 || isOff || (!this.#isHeld() && targets <= this.#most);",
        replace: "return true;",
      },
    ],
  },
  {
    name: "ignore-the-uid-of-a-cluster",
    breaks: "A load balancer of another cluster with the same name looks like one of this cluster.",
    foundBy: scripted("a load balancer of another cluster with the same name"),
    edits: [
      {
        file: "providers/fake/load-balancers.ts",
        find: "uid !== undefined && mark.clusterUID !== undefined && uid !== mark.clusterUID;",
        replace: "false;",
      },
    ],
  },
  {
    name: "clean-up-a-living-cluster",
    breaks: "The command cleanup goes on when the API server of a cluster that is gone answers.",
    foundBy: {
      file: "test/inspect/cleanup/cleanup-command.test.ts",
      test: "cleanup stops deleting when the API server of a deleted cluster answers midway",
    },
    edits: [
      {
        file: "src/inspect/cleanup/cluster-state.ts",
        find: "if (before.kind !== now.kind) {",
        replace: 'if (before.kind === "read" && now.kind !== "read") {',
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
    name: "believe-a-removal-of-a-route",
    breaks: "A route whose removal had no effect stays until the next full check.",
    foundBy: {
      file: "test/controllers/route/route-absence.test.ts",
      test: "removes a route that still exists after its removal again 30 s later",
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
    name: "accept-a-listing-of-the-same-moment",
    breaks: "A listing that began at the moment of the last change counts as newer than it.",
    foundBy: {
      file: "test/controllers/service/reconcile/find-balancer.test.ts",
      test: "neither plans on a listing that began at the moment of the last change nor uses it as a proof of absence",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancers.ts",
        find: "isFresh: isRecent && beganAt > changedAt }",
        replace: "isFresh: isRecent && beganAt >= changedAt }",
      },
    ],
  },
  {
    name: "keep-an-observation-for-ever",
    breaks: "What was observed around a change counts as recent, however old the listing is.",
    foundBy: {
      file: "test/controllers/service/reconcile/find-balancer.test.ts",
      test: "rereads an observation around a change instead of listing, including its mark once that is five minutes old",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancer-observation.ts",
        find: "const isReadRecently = isAll || (isSeen && readAt >= recent);",
        replace: "const isReadRecently = isAll || readAt < now;",
      },
    ],
  },
  {
    name: "close-security-groups-after-an-old-listing",
    breaks: "Steps that depend on other load balancers rest on a listing of any age.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "keeps a security group with its rules when another load balancer got it after an old listing",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancer-observation.ts",
        find: "if (wanted.includes(listingPart) && !(isAll && read.includes(listingPart))) return [listingPart];",
        replace: "",
      },
    ],
  },
  {
    name: "apply-steps-from-an-old-reading",
    breaks: "Steps are applied although what they change was read long ago.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "does not change a load balancer that has lost its tags since an old listing",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/choose-steps.ts",
        find: 'if (needs !== undefined) return { kind: "unread", needs };',
        replace: "",
      },
    ],
  },
  {
    name: "rest-although-a-listing-shows-a-change",
    breaks: "A complete load balancer rests although the listing shows another object for it.",
    foundBy: {
      file: "test/controllers/service/service-cost.test.ts",
      test: "a listing plans only the one of 40 complete Services whose load balancer was changed in the cloud",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancers.ts",
        find: "this.onlyOneOf(uid) === listed",
        replace: "uid.length > 0",
      },
    ],
  },
  {
    name: "rest-for-ever",
    breaks: "A complete load balancer rests for as long as listings repeat its load balancer.",
    foundBy: {
      file: "test/controllers/service/service-cost.test.ts",
      test: "each of 40 complete Services is planned again after a regular listing",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancers.ts",
        find: "return !isOver && ",
        replace: "return (isOver || true) && ",
      },
    ],
  },
  {
    name: "rest-longer-than-a-reading-lasts",
    breaks: "A complete load balancer rests although what was read of it is an hour old.",
    foundBy: {
      file: "test/controllers/service/reconcile/find-balancer.test.ts",
      test: "a Service is no longer at rest when its observation is an hour old",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancers.ts",
        find: "Math.min(completeAt + restsFor, until)",
        replace: "Math.min(completeAt + restsFor, until + restsFor)",
      },
    ],
  },
  {
    name: "rest-on-a-listing-from-before-the-change",
    breaks: "A load balancer rests while listings repeat what was there before its last change.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "repairs a change that a user reverts immediately with the next listing, even if this is early",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/find-balancer.ts",
        find: "const listed = beganAt > changedAt ?",
        replace: "const listed = beganAt >= 0 || changedAt > 0 ?",
      },
    ],
  },
  {
    name: "rest-beside-another-cluster",
    breaks: "A load balancer rests although another cluster has a load balancer for its Service.",
    foundBy: {
      file: "test/controllers/service/service-rest.test.ts",
      test: "reports a load balancer of another cluster for a Service at rest with the listing that shows it, until it is gone",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancers.ts",
        find: "this.foreignOf(uid).length === 0",
        replace: "uid.length > 0",
      },
    ],
  },
  {
    name: "believe-an-error-of-an-old-reading",
    breaks: "An error that rests on an old reading stops all changes.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "changes a load balancer again once the tags of another cluster are removed from its security group",
    },
    edits: [
      {
        file: "src/cloud/inventory/balancer-observation.ts",
        find: 'if (problems.some(({ severity }) => severity === "error")) return [allParts];',
        replace: "if (problems.length < 0) return undefined;",
      },
    ],
  },
  {
    name: "forget-an-edit-that-arrives-while-reading",
    breaks: "What was read before an edit counts as read after it.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "repairs a user's changes in AWS after an edit of the Service that arrives while targets are read",
    },
    edits: [
      {
        file: "src/controllers/service/state/service-record.ts",
        find: "session.observation = observation && { ...observation, notBefore };",
        replace:
          "session.observation = observation && { ...observation, notBefore: notBefore && undefined };",
      },
    ],
  },
  {
    name: "believe-a-lookup-of-another-owner",
    breaks: "A load balancer of another Service that a lookup returns is taken for the own one.",
    foundBy: { invariants: [18], seed: 3, lookups: true },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "if (balancer === undefined || balancer.owners.includes(state.uid)) return false;",
        replace: "return false;",
      },
    ],
  },
  {
    name: "ignore-a-lost-mark",
    breaks:
      "A load balancer that has lost its mark since the last listing is changed as if it were the own one.",
    foundBy: {
      file: "test/providers/aws/read-again.long.test.ts",
      test: "does not change a load balancer that has lost its tags since an old listing",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        // words-ok: quotes the file.
        find: 'if (balancer?.ownership === "ours") {\n      const now',
        replace: "if (balancer !== undefined) {\n      const now",
      },
    ],
  },
  {
    name: "skip-the-lookup-of-a-deletion",
    breaks: "Listings alone prove that a load balancer of a deleted Service is gone.",
    foundBy: {
      file: "test/providers/aws/load-balancers.test.ts",
      test: "leaves no security group behind when the creation of a classic load balancer never succeeds",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "ending !== undefined && state.evidence.isRemoved",
        replace: "ending !== undefined",
      },
    ],
  },
  {
    name: "delete-nodes-of-undescribed-instances",
    breaks: "A Node is deleted although an instance that the cloud shows without its name may be its own.",
    foundBy: {
      file: "test/controllers/node-lifecycle/node-lifecycle.test.ts",
      test: "holds only Nodes without a provider id while the cloud shows a machine without its name",
    },
    edits: [
      {
        file: "src/controllers/node-lifecycle/observe.ts",
        find: "if (undescribed !== undefined) return",
        replace: "if (undescribed === evidence) return",
      },
      {
        file: "src/controllers/node-lifecycle/plan.ts",
        find: 'const undescribed = answer.kind === "gone" ? answer.undescribed : undefined;',
        replace: "const undescribed = undefined as Instance | undefined;",
      },
    ],
  },
  {
    name: "query-the-cloud-for-each-certificate-request",
    breaks:
      "One kubelet causes a listing per second by requests with an address that its instance does not have.",
    foundBy: {
      file: "test/controllers/serving-certificates/serving-certificates.test.ts",
      test: "queries the cloud once per minute for a kubelet that sends a request every second",
    },
    edits: [
      {
        file: "src/controllers/serving-certificates/controller.ts",
        find: "if (at > now) return",
        replace: 'if (at > now && key === "") return',
      },
    ],
  },
  {
    name: "pace-checks-by-the-nodes-scheduled-so-far",
    breaks: "Many Nodes that are not Ready cost a lookup each, at the interval for a few.",
    foundBy: {
      file: "test/controllers/node-lifecycle/check-pace.long.test.ts",
      test: "costs at most",
    },
    edits: [
      {
        file: "src/controllers/node-lifecycle/controller.ts",
        find: '([all.size, "regular"] as const)',
        replace: '([1, "regular"] as const)',
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
    name: "create-again-after-a-doubted-deletion",
    breaks: "A load balancer that Fairlead deleted is created again although listings lack too many others.",
    foundBy: {
      file: "test/controllers/service/service-mass-limit.long.test.ts",
      test: "a Service that requests its load balancer again gets no replacement while listings lack too many",
    },
    edits: [
      {
        file: "src/controllers/service/reconcile/allow.ts",
        find: " || isRemoved",
        replace: "",
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
    name: "doubt-the-address-of-another-leader",
    breaks:
      "A load balancer that another leader created only may exist, so its loss does not count for the mass limit.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "an object whose existence is only possible counts as existing when its Service shows another leader's address",
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
    name: "delete-on-an-old-listing",
    breaks: "A load balancer that reads hide is believed to be gone after a deletion without effect.",
    foundBy: scripted("a load balancer whose deletion has no effect is not considered gone"),
    edits: [
      {
        file: "src/controllers/service/reconcile/choose-steps.ts",
        find: "balancers.observeAgain === undefined && !inventory.isJustListed(state.uid)",
        replace: "inventory === undefined",
      },
    ],
  },
  {
    name: "believe-lookups-while-listings-are-doubted",
    breaks:
      "A finalizer leaves because a lookup does not find the load balancer, while reads hide all of them.",
    foundBy: scripted("although a lookup does not find its load balancer either"),
    edits: [
      {
        file: "src/controllers/service/reconcile/allow.ts",
        find: "if (state.evidence.certainty === undefined) return undefined;",
        replace:
          "if (state.evidence.notFoundAt !== undefined || state.evidence.certainty === undefined) return undefined;",
      },
    ],
  },
  {
    name: "believe-a-lookup-against-an-old-listing",
    breaks:
      "A lookup that does not find what an old listing shows is a proof, whatever else is hidden by now.",
    foundBy: { invariants: [18], seed: 12, lookups: true },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: "if (isMissed && !inventory.isJustListed(state.uid))",
        replace: "if (isMissed && inventory === undefined)",
      },
    ],
  },
  {
    name: "believe-a-lookup-against-an-earlier-one",
    breaks:
      "A lookup that does not find what an earlier lookup showed is a proof, although the last listing is old and was wrong.",
    foundBy: { invariants: [18], seed: 92, lookups: true },
    edits: [
      {
        file: "src/controllers/service/reconcile/observe.ts",
        find: '|| (evidence.certainty === "exists" && evidence.removal === undefined)',
        replace: "|| evidence === null",
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
    name: "believe-a-lookup-just-after-a-takeover",
    breaks: "A lookup that lags behind the last request of the former leader proves that it created nothing.",
    foundBy: {
      file: "test/controllers/kernel/ledger.test.ts",
      test: "a lookup soon after a session began proves nothing about an object that",
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
      test: "an object that only a former leader may have requested is new ten minutes later",
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
      test: "creates a route that the cloud rejects as busy after a takeover only after another proof of absence",
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
      test: "a recorded object is absent after a later second answer",
    },
    edits: [
      {
        file: "src/controllers/kernel/ledger.ts",
        find: "confirmAfter: settings.confirmAfter, kinds: []",
        replace: "confirmAfter: milliseconds(1), kinds: []",
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

export const mutationNamed = (name: string): Mutation | undefined =>
  mutations.find((mutation) => mutation.name === name);

/** The source with the edits of the mutation that concern this file. */
export const mutate = ({ name, edits }: Mutation, file: string, source: string): string =>
  edits
    .filter((edit) => edit.file === file)
    .reduce((text, { find, replace }) => {
      const parts = text.split(find);
      if (parts.length !== 2) {
        throw new Error(
          `The mutation ${name} expects its text exactly once in ${file}, found it ${parts.length - 1} times.`,
        );
      }
      return parts.join(replace);
    }, source);
