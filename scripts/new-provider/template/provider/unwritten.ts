// Stands where you have to write. Delete this file when nothing imports it any more.

export const unwritten = (file: string, section: string): never => {
  throw new Error(`${file} is not written yet: see "${section}" in docs/write-a-provider.md of Fairlead.`);
};
