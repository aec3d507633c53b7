// Mutations that a perturbed view of the API server finds, one by each pattern: they prove that the perturbations take place.

import type { FoundByTest, Mutation } from "./mutation.ts";

const perturbed = (test: string): FoundByTest => ({ file: "test/perturbation/perturbation.test.ts", test });

export const perturbationMutations: readonly Mutation[] = [
  {
    name: "forget-the-finalizer-of-what-was-deleted-before-a-crash",
    breaks:
      "A process that is killed between a load balancer and its finalizer leaves the finalizer for ever.",
    foundBy: perturbed(
      "a Service is deleted and created again under its name, and the manager is killed after a write",
    ),
    edits: [
      {
        file: "src/controllers/service/predicates.ts",
        find: "isEnding && (hasFinalizer(service, classes) || hasBalancer)",
        replace: "isEnding && hasBalancer",
      },
    ],
  },
  {
    name: "delete-a-node-by-its-name",
    breaks: "A Node is deleted in place of its predecessor, whose deletion was not seen.",
    foundBy: perturbed("its name joins with another machine, and a change is only seen in the next list"),
    edits: [
      {
        file: "src/controllers/kernel/node-writes.ts",
        find: "{ name }, { uid, resourceVersion }, signal",
        replace: "{ name }, uid === resourceVersion ? { uid } : {}, signal",
      },
    ],
  },
  {
    name: "list-from-the-cache-of-the-server",
    breaks: "A process begins with a list that may be older than what the one before it has seen.",
    foundBy: perturbed(
      "a Node leaves, and its name joins with another machine, and the manager restarts on an API server with an old cache",
    ),
    edits: [
      {
        file: "src/kube/watch/watch.ts",
        find: "...defined({ limit, continue: token }) };",
        replace:
          '...defined({ limit, continue: token, resourceVersion: token === undefined ? "0" : undefined }) };',
      },
    ],
  },
];
