// Makes another folder the root of this process (chroot). The runtime has no function for it, so this calls the C library.

/**
 * From then on, this process and the programs that it starts have the files below the folder. Rejects with what is missing; nothing has
 * changed then. It needs the capability SYS_CHROOT.
 */
export async function changeRoot(folder: string): Promise<void> {
  const { dlopen, FFIType } = await import("bun:ffi");
  const library = dlopen("libc.so.6", { chroot: { args: [FFIType.cstring], returns: FFIType.i32 } });
  try {
    if (library.symbols.chroot(Buffer.from(`${folder}\0`)) !== 0)
      throw new Error(
        `${folder} cannot become the root folder: it does not exist, or the capability SYS_CHROOT is missing`,
      );
  } finally {
    library.close();
  }
  process.chdir("/");
}
