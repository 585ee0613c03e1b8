import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Lock } from '@tenure/core'
import { lockConformance, type LockFixture } from '@tenure/testing/lock-conformance'
import { describe, expect, test } from 'vitest'
import { openLock, type WrongLock } from '../../packages/testing/test/wrong-locks.ts'

interface FileFixture extends LockFixture {
  readonly path: string
}

async function createFixture(flaw: string): Promise<FileFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-attack-lock-'))
  const path = join(folder, 'lease')
  const locks: Lock[] = []
  return {
    path,
    openLock: () => {
      const lock = openLock({ path, flaw })
      locks.push(lock)
      return lock
    },
    deleteLease: async () => {
      await rm(`${path}.json`, { force: true })
      await rename(path, `${path}.gone`).catch(() => {})
      await rm(`${path}.gone`, { recursive: true, force: true })
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(locks.map((lock) => lock.close()))
      await rm(folder, { recursive: true, maxRetries: 5 })
    },
  }
}

/** The requirements, among those of a name, that a lock with a flaw breaks. */
async function brokenBy(flaw: string, among = /./): Promise<readonly string[]> {
  const broken: string[] = []
  const cases = lockConformance<FileFixture>({
    patienceMs: 1500,
    lateMs: 600,
    createFixture: () => createFixture(flaw),
    otherProcess: ({ path }) => ({
      module: new URL('../../packages/testing/test/wrong-locks.ts', import.meta.url),
      argument: { path, flaw } satisfies WrongLock,
      execArgv: ['--conditions=@tenure/source'],
    }),
    outage: {
      begin: async ({ path }) => {
        await rename(path, `${path}.away`)
        await writeFile(path, 'no directory')
      },
      end: async ({ path }) => {
        await rm(path)
        await rename(`${path}.away`, path)
      },
    },
  })
  for (const { name, run } of cases.filter(({ name }) => among.test(name))) await run().catch(() => broken.push(name))
  return broken
}

describe('the lock conformance suite', () => {
  test('passes a lock on files as it is', async () => {
    expect(await brokenBy('none')).toEqual([])
  })

  test.each([
    ['a mutex of one process', /no two processes win the same version/],
    ['ignores an abort under way', /ends a request whose signal aborts/],
    ['a write that lands late', /lands no write after its request has ended/],
    ['a watch that never says down', /says that its watch is down/],
  ])('does not pass a lock with this flaw: %s', async (flaw, requirement) => {
    expect(await brokenBy(flaw, requirement)).not.toEqual([])
  })
})
