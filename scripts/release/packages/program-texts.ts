// The man page and the shell completions of a package, which the program prints.

import type { Prepared } from "../../build/executable.ts";
import { ProgramOutput } from "../../build/program-output.ts";
import type { PackageFile } from "./content.ts";

/** The folders in which distributions look for completions of zsh. */
const zshFolders = {
  deb: "usr/share/zsh/vendor-completions",
  rpm: "usr/share/zsh/site-functions",
} as const;
export type Format = keyof typeof zshFolders;

export interface ProgramTexts {
  /** In roff format. */
  readonly manPage: string;
  readonly bash: string;
  readonly zsh: string;
  readonly fish: string;
}

/** Runs the program of the cloud from its sources. */
export async function programTexts({
  provider,
  sources: { version, commit },
}: Prepared): Promise<ProgramTexts> {
  const defines = { FAIRLEAD_VERSION: version, FAIRLEAD_COMMIT: commit, FAIRLEAD_NOTICES: "" };
  using output = await ProgramOutput.of(provider, defines);
  return {
    manPage: output.of("man"),
    bash: output.of("completion", "bash"),
    zsh: output.of("completion", "zsh"),
    fish: output.of("completion", "fish"),
  };
}

export function textFiles(program: string, texts: ProgramTexts, format: Format): readonly PackageFile[] {
  const file = (path: string, content: string | Uint8Array, isDocumentation = false): PackageFile => {
    return { path, mode: 0o644, content: Buffer.from(content), isDocumentation };
  };
  const manual = Bun.gzipSync(texts.manPage, { level: 9, library: "libdeflate" });
  return [
    file(`usr/share/bash-completion/completions/${program}`, texts.bash),
    file(`usr/share/fish/vendor_completions.d/${program}.fish`, texts.fish),
    file(`usr/share/man/man8/${program}.8.gz`, manual, true),
    file(`${zshFolders[format]}/_${program}`, texts.zsh),
  ];
}
