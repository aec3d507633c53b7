// The next steps for the author of a new provider: those of docs/write-a-provider.md, with the paths filled in.

import { relative } from "node:path";
import { isPackage, repository, type Skeleton } from "./skeleton.ts";

const shown = (path: string): string => relative(repository, path) || ".";

function packageSteps(folder: string, count: number): string {
  return `Created ${count} files in ${folder}. They compile; the tests fail where code is missing.

Next steps, in this folder. docs/write-a-provider.md of Fairlead shows each file for an example cloud:

  1. npm install
  2. write simulator/, settings.ts, api.ts, instances.ts, plan-balancer.ts, load-balancers.ts and routes.ts, until this passes: npm test
  3. npm run check, npx fairlead-provider try, npm run build

If your cloud has no load balancers or no routes, remove them from index.ts and their suite from the test.
`;
}

/** The steps for a complete provider, which is changed into that of another cloud. */
export function hardSteps({ folder, test, files }: Skeleton, name: string, isInside: boolean): string {
  const path = shown(test);
  const run = isPackage ? "npm test" : `npm test -- ${path.startsWith(".") ? path : `./${path}`}`;
  const which = isInside ? name : shown(folder);
  return `Created ${files.size} files in ${shown(folder)}: a complete provider for an invented cloud. All its tests pass.

Next steps. docs/write-a-hard-provider.md explains each file:

  1. simulator/   change cloud.ts into your cloud's API, from its API reference; now tests fail
  2. all others   change settings.ts, api.ts, machines.ts, plan-pool.ts, load-balancers.ts, jobs.ts and routes.ts, until this passes: ${run}
  3. try it       ${isPackage ? "npx fairlead-provider try" : `npm run new-provider -- try ${which}`}
  4. check it     ${isPackage ? "npm run check" : `npm run check${isInside ? "" : ` -- ${which}`}`}
  5. build it     ${isPackage ? "npm run build" : `npm run build ${which}`}

Remove what your cloud does not have from index.ts, and its suite from the test.
`;
}

export function nextSteps({ folder, test, files }: Skeleton, name: string, isInside: boolean): string {
  const path = shown(test);
  if (isPackage) return packageSteps(folder, files.size);
  const run = `npm test -- ${path.startsWith(".") ? path : `./${path}`}`;
  const which = isInside ? name : shown(folder);
  return `Created ${files.size} files in ${shown(folder)}. They compile; the tests fail where code is missing.

Next steps, in this order. docs/write-a-provider.md shows each one for an example cloud:

  1. simulator/            cloud.ts simulates your cloud's API, from its API reference; harness.ts changes it for the tests
  2. settings.ts, index.ts settings, authentication of requests, annotation prefix
  3. api.ts                types of the API objects, and one function per operation
  4. instances.ts          until this passes: ${run} -t instances
  5. plan-balancer.ts      steps from the observed to the desired state, with a unit test
  6. load-balancers.ts     until this passes: ${run} -t "load balancers"
  7. routes.ts             until all tests pass: ${run}
  8. run it                npm run new-provider -- try ${which}
  9. check it              npm run check${isInside ? "" : ` -- ${which}`}
  10. build the executable npm run build ${which}

If your cloud has no load balancers or no routes, remove them from index.ts and their suite from the test.
`;
}
