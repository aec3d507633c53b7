// How much a run of the tests covers: a fixed selection (`npm test`), every fault position and more seeds (`npm run
// test:all`), or also what takes long and finds little (`npm run test:all -- --nightly`).

import { systemEnvironment } from "../platform/environment.ts";

const breadth = systemEnvironment()["FAIRLEAD_TESTS"];

export const runsNightly: boolean = breadth === "nightly";
export const runsAllTests: boolean = breadth === "all" || runsNightly;
