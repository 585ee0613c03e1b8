import { once } from 'node:events'
import fs from 'node:fs'
import { open, opendir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plant } from './plant.ts'

const HERE = import.meta.filename
let scratchFiles = 0

async function openStream(): Promise<fs.WriteStream> {
  const stream = fs.createWriteStream(join(tmpdir(), `leaks-${process.pid}-${scratchFiles++}.txt`))
  await once(stream, 'open')
  return stream
}

async function closeStream(stream: fs.WriteStream): Promise<void> {
  stream.end()
  await once(stream, 'close')
  fs.rmSync(stream.path)
}

export const filePlants: readonly Plant[] = [
  {
    name: 'file system watcher',
    kind: 'fs-watcher',
    leak: () => {
      const watcher = fs.watch(import.meta.dirname)
      return () => watcher.close()
    },
    clean: () => fs.watch(import.meta.dirname).close(),
  },
  {
    name: 'polled file',
    kind: 'fs-watcher',
    leak: () => {
      const listener = () => {}
      fs.watchFile(HERE, { persistent: false, interval: 60_000 }, listener)
      return () => fs.unwatchFile(HERE, listener)
    },
    clean: () => {
      fs.watchFile(HERE, { interval: 60_000 }, () => {})
      fs.unwatchFile(HERE)
    },
  },
  {
    name: 'FileHandle',
    kind: 'file-handle',
    leak: async () => {
      const handle = await open(HERE)
      return () => handle.close()
    },
    clean: async () => {
      await using handle = await open(HERE)
      await handle.stat()
    },
  },
  {
    name: 'file descriptor',
    kind: 'file-descriptor',
    leak: () => {
      const fd = fs.openSync(HERE, 'r')
      return () => fs.closeSync(fd)
    },
    clean: () => fs.closeSync(fs.openSync(HERE, 'r')),
  },
  {
    name: 'file stream that is not ended',
    kind: 'file-descriptor',
    leak: async () => {
      const stream = await openStream()
      return () => closeStream(stream)
    },
    clean: async () => closeStream(await openStream()),
  },
  {
    name: 'directory handle',
    kind: 'directory-handle',
    leak: async () => {
      const directory = await opendir(import.meta.dirname)
      return () => directory.close()
    },
    clean: async () => {
      const directory = await opendir(import.meta.dirname)
      await directory.close()
    },
  },
]
