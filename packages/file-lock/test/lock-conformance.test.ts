import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Lock } from '@tenure/core'
import { describe, test } from 'vitest'
import { lockConformance, type LockFixture } from '@tenure/testing/lock-conformance'
import { FileLock } from '../src/file-lock.ts'

interface FileFixture extends LockFixture {
  readonly path: string
}

async function createFixture(): Promise<FileFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-file-lock-'))
  const path = join(folder, 'janitor.lease')
  const locks: Lock[] = []
  return {
    path,
    openLock: () => {
      const lock = new FileLock({ path })
      locks.push(lock)
      return lock
    },
    deleteLease: () => rename(path, join(folder, 'gone')).then(() => rm(join(folder, 'gone'), { recursive: true })),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(locks.map((lock) => lock.close()))
      await rm(folder, { recursive: true })
    },
  }
}

async function newest(path: string): Promise<{ readonly version: bigint; readonly fields: Record<string, unknown> }> {
  const [version = 0n] = (await readdir(path)).map((name) => BigInt(name.slice(0, -5))).sort((a, b) => (a < b ? 1 : -1))
  return { version, fields: JSON.parse(await readFile(join(path, `${version}.json`), 'utf8')) }
}

describe('a file lock', () => {
  const foreignData = {
    put: async ({ path }: FileFixture) => {
      const { version, fields } = await newest(path)
      const annotations = { ...(fields['annotations'] as object), 'example.com/note': 'keep me' }
      const next = { ...fields, annotations, write: 'by hand', base: fields['write'], team: { name: 'ops' } }
      await writeFile(join(path, `${version + 1n}.json`), JSON.stringify(next), { flag: 'wx' })
    },
    read: async ({ path }: FileFixture) => {
      const { team, annotations } = (await newest(path)).fields
      return { team, note: (annotations as Record<string, unknown>)['example.com/note'] }
    },
  }
  const otherProcess = ({ path }: FileFixture) => ({
    module: new URL('open-lock.ts', import.meta.url),
    argument: path,
    execArgv: ['--conditions=@tenure/source'],
  })
  const outage = {
    begin: async ({ path }: FileFixture) => {
      await rename(path, `${path}.away`)
      await writeFile(path, 'no directory')
    },
    end: async ({ path }: FileFixture) => {
      await rm(path)
      await rename(`${path}.away`, path)
    },
  }
  const cases = lockConformance({ createFixture, foreignData, otherProcess, outage, lateMs: 100 })
  for (const { name, run } of cases) test(name, run)
})
