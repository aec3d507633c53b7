// The text of a release: its changes, the versions inside, and how to verify the downloads. Pure.

import type { LockedPackage } from "./image/lock.ts";

export interface NotesInput {
  readonly version: string;
  readonly changes: string;
  readonly isSigned: boolean;
  readonly bunVersion: string;
  /** The Debian packages in the images; empty without images. */
  readonly packages: readonly LockedPackage[];
}

export const verifyCommand =
  "openssl dgst -sha256 -verify release-key.pub -signature SHA256SUMS.sig SHA256SUMS";
const checkCommand = "sha256sum --check --ignore-missing SHA256SUMS";

function contents({ bunVersion, packages }: NotesInput): string {
  const versions = [...new Set(packages.map(({ name, version }) => `${name} ${version}`))];
  const images = versions.length === 0 ? "" : ` The images contain ${versions.join(", ")} of Debian.`;
  return `The executables contain Bun ${bunVersion}.${images}`;
}

/** Links of the changelog are relative to the repository, and a release is read elsewhere. */
function withoutRelativeLinks(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)/g, (_, shown: string, path: string) =>
    shown.replaceAll("`", "") === path ? `\`${path}\`` : `${shown} (\`${path}\`)`,
  );
}

export function releaseNotes(input: NotesInput): string {
  const { version, isSigned } = input;
  const changes = withoutRelativeLinks(input.changes);
  const verify = isSigned
    ? `Take \`release-key.pub\` from the repository (\`deploy/release-key.pub\`), not from this release.

\`\`\`sh
${verifyCommand}
${checkCommand}
\`\`\``
    : `This release is not signed. The checksums find a damaged download, and no more:

\`\`\`sh
${checkCommand}
\`\`\``;
  return `# Fairlead ${version}

${changes}

## Contents

${contents(input)}

## Verify a download

${verify}

\`docs/install.md\` describes each kind of file, and \`docs/support.md\` upgrades and rollbacks.
`;
}
