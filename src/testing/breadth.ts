// The breadth of a test run: a fixed selection (`npm test`), every fault position and more seeds (`npm run test:all`), or slow
// tests that rarely fail (`npm run test:all -- --nightly`).

import { systemEnvironment } from "../platform/environment.ts";

const breadth = systemEnvironment()["FAIRLEAD_TESTS"];

export const runsNightly: boolean = breadth === "nightly";
export const runsAllTests: boolean = breadth === "all" || runsNightly;
