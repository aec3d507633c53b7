// Mutations that remove protections of Services.

import { type FoundByTest, type Mutation, scripted } from "./mutation.ts";

const betweenManagers = (test: string): FoundByTest => ({
  file: "test/controllers/service/service-classes.test.ts",
  test,
});

export const serviceMutations: readonly Mutation[] = [
  {
    name: "manage-a-duplicate-after-a-change",
    breaks:
      "A duplicate that a listing shows without the original just after a change replaces the load balancer of a Service.",
    foundBy: {
      file: "test/controllers/service/service-duplicates.test.ts",
      test: "a duplicate that a listing shows without the original after",
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
      test: "keeps the load balancer of a disowning Service that vanishes",
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
    name: "create-again-after-a-doubted-deletion",
    breaks: "A load balancer that Fairlead deleted is created again although listings lack too many others.",
    foundBy: {
      file: "test/controllers/service/service-mass-limit.long.test.ts",
      test: "a Service that requests its load balancer again gets no replacement while listings lack too many load balancers",
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
    name: "postpone-checks-of-operations",
    breaks:
      "While new operations begin all the time, no operation is checked, so no load balancer gets an address.",
    foundBy: {
      file: "test/controllers/operations.test.ts",
      test: "checks an operation in time, although others begin all the time",
    },
    edits: [
      {
        file: "src/controllers/operations.ts",
        find: "Math.max(0, Math.min(...times) + batchWindow - clock.monotonic())",
        replace: "Math.max(0, Math.min(...times) - clock.monotonic()) + batchWindow",
      },
    ],
  },
];
