// `npm run test:tools`: tests of the downloads and installations of users, with the tools that they
// use, such as helm or promtool. The tools are installed outside the repository; a tool that cannot
// be installed is skipped, with a line that states the reason.

import { keepLoopbackDirect } from "../src/platform/environment.ts";
import { printHelp } from "./command-line.ts";
import { chooseTests, filesLike, runTests } from "./test-runs.ts";

const usage = `Usage: npm run test:tools -- [part of a file name]... [bun test options]

Runs test/tools with the real tools. Go modules are built into \${XDG_CACHE_HOME:-~/.cache}/fairlead. Debian packages are installed
only with CI=true or FAIRLEAD_INSTALL_TOOLS=1. Tests that need an API server need KUBEBUILDER_ASSETS, as test:cluster does.
`;

const words = process.argv.slice(2);
printHelp(usage, words);
keepLoopbackDirect();
const { files, flags } = chooseTests("tool", words, filesLike("test/tools/*.tool.ts"));
process.exit(await runTests(["--timeout=600000", ...flags], files));
