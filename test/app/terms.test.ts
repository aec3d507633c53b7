import { expect, test } from "bun:test";
import { runTerms, type TermsOptions } from "../../src/app/terms.ts";

test("the Lease is given up when a controller fails, and the failure is told after it", async () => {
  let isReleased = false;
  const elect = ({ onAcquired }: { readonly onAcquired: () => void }) => ({
    run: async (signal: AbortSignal) => {
      onAcquired();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      await Promise.resolve();
      isReleased = true;
    },
  });
  const quiet = () => undefined;
  const options = {
    stop: new AbortController().signal,
    log: { info: quiet, warn: quiet, error: quiet, debug: quiet },
    controllers: [{ name: "x", run: () => Promise.reject(new Error("boom")) }],
    elect,
  } as unknown as TermsOptions;
  expect(await runTerms(options).catch(String)).toContain("boom");
  expect(isReleased).toBe(true);
});
