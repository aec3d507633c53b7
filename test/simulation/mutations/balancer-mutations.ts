// Mutations that corrupt what is known about load balancers.

import { type Mutation, scripted } from "./mutation.ts";

export const balancerMutations: readonly Mutation[] = [
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
    name: "manage-a-duplicate-at-first-sight",
    breaks:
      "A duplicate that the first listing of a leader shows without the original replaces the load balancer of a Service.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "that the first listing of a leader shows without the original",
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
    name: "accept-a-listing-of-the-same-moment",
    breaks: "A listing that began at the moment of the last change counts as newer than it.",
    foundBy: {
      file: "test/controllers/service/reconcile/find-balancer.test.ts",
      test: "uses a listing that began at the moment of the last change neither for a plan nor as a proof of absence",
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
      test: "after a change, rereads the load balancer instead of listing, and rereads its mark after five minutes",
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
      test: "keeps a security group and its rules when another load balancer uses the group since an old listing",
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
    name: "rest-although-a-listing-shows-a-change",
    breaks: "A complete load balancer rests although the listing shows another object for it.",
    foundBy: {
      file: "test/controllers/service/service-cost.test.ts",
      test: "a listing causes a plan only for the one of 40 complete Services whose load balancer was changed in the cloud",
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
      test: "a Service is no longer settled when its observation is an hour old",
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
      test: "the next listing, even an early one, repairs a change that a user reverts immediately",
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
      test: "reports another cluster's load balancer for a settled Service as long as listings show it",
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
    name: "believe-a-lookup-against-an-old-listing",
    breaks:
      "A lookup that does not find what an old listing shows is a proof, whatever else is hidden by now.",
    foundBy: { invariants: [18], seed: 28, lookups: true },
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
];
