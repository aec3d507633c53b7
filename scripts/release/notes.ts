// The text of a release: what changes, and how to verify what was downloaded. Pure.

export interface NotesInput {
  readonly version: string;
  readonly changes: string;
  readonly isSigned: boolean;
}

export const verifyCommand =
  "openssl dgst -sha256 -verify release-key.pub -signature SHA256SUMS.sig SHA256SUMS";
const checkCommand = "sha256sum --check --ignore-missing SHA256SUMS";

export function releaseNotes({ version, changes, isSigned }: NotesInput): string {
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

## Verify a download

${verify}

\`docs/install.md\` describes each kind of file, and \`docs/support.md\` upgrades and rollbacks.
`;
}
