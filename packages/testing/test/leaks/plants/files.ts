import { execFile } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { mkdir, open, opendir, rename, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
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

let leftFiles = 0
const leftPath = () => join(tmpdir(), `leaks-left-${process.pid}-${leftFiles++}`)

/** Makes something on disk, and its twin removes it. */
function making(name: string, make: (path: string) => unknown): Plant {
  const leak = async () => {
    const path = leftPath()
    await make(path)
    return () => fs.rmSync(path, { recursive: true })
  }
  return { name, kind: 'file', leak, clean: async () => (await leak())() }
}

const leftPlants: readonly Plant[] = [
  making('file left on disk', (path) => fs.writeFileSync(path, 'left')),
  making('file left by a promise', (path) => writeFile(path, 'left')),
  making('file left by a callback', (path) => promisify(fs.writeFile)(path, 'left')),
  making('file left by a stream', async (path) => {
    const stream = fs.createWriteStream(path)
    stream.end('left')
    await once(stream, 'close')
  }),
  making('file left by a file handle', async (path) => {
    await using handle = await open(path, 'w')
    await handle.write('left')
  }),
  making('copied file', (path) => fs.copyFileSync(HERE, path)),
  making('file that was written and renamed', async (path) => {
    await writeFile(`${path}.new`, 'left')
    await rename(`${path}.new`, path)
  }),
  making('folder left on disk', (path) => mkdir(join(path, 'deeper'), { recursive: true })),
  making('symbolic link', (path) => symlink(HERE, path)),
]

const pipe = join(tmpdir(), `leaks-pipe-${process.pid}`)

/** Reads what nobody has written yet. Opened for both directions, the pipe does not wait for its other end. */
function readPipe(): () => Promise<unknown> {
  const read = promisify(fs.readFile)(pipe)
  return () => Promise.all([read, writeFile(pipe, 'done', { flag: fs.constants.O_RDWR })])
}

/** A pipe with a name: to open it waits for the other end. */
const pipePlant: Plant = {
  name: 'read that waits',
  kind: 'request',
  prepare: async () => {
    await promisify(execFile)('mkfifo', [pipe])
    return () => fs.rmSync(pipe)
  },
  leak: readPipe,
  clean: () => readPipe()(),
}

export const filePlants: readonly Plant[] = [
  ...leftPlants,
  ...(process.platform === 'win32' ? [] : [pipePlant]),
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
