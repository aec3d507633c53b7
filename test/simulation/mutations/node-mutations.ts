// Mutations that remove protections of Nodes.

import { type Mutation, scripted } from "./mutation.ts";

const planOutOfService = "src/controllers/node-lifecycle/plan-out-of-service.ts";
const outOfService = { file: "test/controllers/node-lifecycle/out-of-service.test.ts" };

const mergePatch = { file: "test/kube/patches/merge-patch.test.ts" };

export const nodeMutations: readonly Mutation[] = [
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
      test: "needs another answer when the last answer is older than 30 s",
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
    name: "count-nodes-that-an-operator-confirmed",
    breaks: "A hold goes on although an operator has confirmed the deletion of the Nodes that it counted.",
    foundBy: {
      file: "test/controllers/node-lifecycle/census.test.ts",
      test: "a hold does not count a Node whose deletion an operator has confirmed",
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
    name: "delete-nodes-of-undescribed-instances",
    breaks: "A Node is deleted although an instance that the cloud shows without its name may be its own.",
    foundBy: {
      file: "test/controllers/node-lifecycle/node-lifecycle.test.ts",
      test: "holds only Nodes without a provider id while the cloud lists a machine without its name",
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
    name: "patch-any-version-by-merging",
    breaks: "A patch without guards replaces the taints that another client has set since.",
    foundBy: { ...mergePatch, test: "names the uid and the version" },
    edits: [
      {
        file: "src/kube/patches/merge-patch.ts",
        find: "{ metadata: { uid, resourceVersion } }",
        replace: "{ metadata: { uid, ...(resourceVersion === uid && { resourceVersion }) } }",
      },
    ],
  },
  {
    name: "drop-the-guards-of-another-version",
    breaks: "A patch applies although a value behind its guards was different.",
    foundBy: { ...mergePatch, test: "a failed guard, a list that merges" },
    edits: [
      {
        file: "src/kube/patches/merge-patch.ts",
        find: "if (!Bun.deepEquals(valueAt(object, step.path) ?? null, step.value)) return undefined;",
        replace: "Bun.deepEquals(valueAt(object, step.path) ?? null, step.value);",
      },
    ],
  },
  {
    name: "give-the-new-version-to-the-old-object",
    breaks:
      "After a conflict, an object gets the version of changes that it lacks, and the next patch undoes them.",
    foundBy: { ...mergePatch, test: "returns the object with other clients' changes" },
    edits: [
      {
        file: "src/kube/client/http-api.ts",
        find: "    return this.patch(resource, key, patch, signal);\n  }\n\n  async delete",
        replace:
          "    const fresh = await this.patch(resource, key, patch, signal);\n    return { ...applySteps(object, patch.body), metadata: fresh.metadata };\n  }\n\n  async delete",
      },
    ],
  },
];
