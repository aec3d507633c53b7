// What the author of a new provider does next, in order: the steps of docs/write-a-provider.md with the paths filled in.

import { relative } from "node:path";
import { repository, type Skeleton } from "./skeleton.ts";

const shown = (path: string): string => relative(repository, path) || ".";

export function nextSteps({ folder, test, files }: Skeleton, name: string, isInside: boolean): string {
  const path = shown(test);
  const run = `npm test -- ${path.startsWith(".") ? path : `./${path}`}`;
  const which = isInside ? name : shown(folder);
  return `${shown(folder)} is there: ${files.size} files. It compiles, and its tests are red where you have to write.

Next, in this order; docs/write-a-provider.md does each step for an invented cloud:

  1. simulator/cloud.ts    make it answer as your cloud does, from the cloud's reference
  2. settings.ts, index.ts what can be set, how the token is put on a request, the prefix of annotations
  3. api.ts                the shapes you use, and one function per operation
  4. instances.ts          until this is green: ${run} -t instances
  5. plan-balancer.ts      which steps lead from what is there to what is wished, with a test of its own
  6. load-balancers.ts     until this is green: ${run} -t "load balancers"
  7. routes.ts             until all is green:  ${run}
  8. see it work           npm run new-provider -- try ${which}
  9. build the executable  npm run build ${which}

No load balancers or no routes? Leave them out of index.ts, and their call out of the test.
`;
}
