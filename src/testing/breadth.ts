// How much a run of the tests covers: a fixed selection (`npm test`), or every fault position and more seeds (`npm run test:all`).

import { systemEnvironment } from "../platform/environment.ts";

export const runsAllTests: boolean = systemEnvironment()["FAIRLEAD_TESTS"] === "all";
