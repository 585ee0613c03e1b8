import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Lock } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { lockConformance, type LockFixture } from '../src/lock-conformance/index.ts'
import { openLock, type WrongLock } from './wrong-locks.ts'

interface WrongFixture extends LockFixture {
  readonly path: string
}

function suite(flaw: string) {
  const argumentOf = ({ path }: WrongFixture): WrongLock => ({ path, flaw })
  return lockConformance<WrongFixture>({
    patienceMs: 1500,
    lateMs: 600,
    createFixture: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tenure-wrong-lock-'))
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
          await rename(path, `${path}.gone`).catch(() => {})
          await Promise.all([`${path}.gone`, `${path}.json`].map((gone) => rm(gone, { recursive: true, force: true })))
        },
        [Symbol.asyncDispose]: async () => {
          await Promise.all(locks.map((lock) => lock.close()))
          await rm(folder, { recursive: true })
        },
      }
    },
    otherProcess: (fixture) => ({
      module: new URL('wrong-locks.ts', import.meta.url),
      argument: argumentOf(fixture),
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
}

/** Wrong locks, the requirement that each of them breaks, and what the suite says. */
const WRONG: readonly (readonly [flaw: string, breaks: RegExp, says: RegExp])[] = [
  ['a mutex of one process', /no two processes win the same version/, /won more than once/],
  ['a mutex of one process', /one of several processes create/, /expected one process to create the lease/],
  ['ignores an abort under way', /aborts right after the call/, /went on after its signal had aborted/],
  [
    'a write that lands late',
    /lands no write after its request has ended/,
    /a write landed after its request had ended/,
  ],
  [
    'a write that lands after the lock was closed',
    /lands no write after its request has ended/,
    /a write landed after its request had ended/,
  ],
  ['a watch that never says down', /says that its watch is down/, /the watch says that it is down within/],
  ['a watch that is never up again', /says that its watch is down/, /the watch is up again within/],
  ['a watch that stops at the first trouble', /says that its watch is down/, /the watch is up again within/],
  ['a watch that shows only the latest version', /reports every version/, /every version to be reported/],
  [
    'a lock file that stays when its process is killed',
    /goes on when another process is killed/,
    /after another (?:process )?was killed/,
  ],
]

describe('the conformance suite', () => {
  test.each(WRONG)('fails a lock with %s, where it %s', async (flaw, breaks, says) => {
    const [broken] = suite(flaw).filter(({ name }) => breaks.test(name))
    await expect(broken?.run()).rejects.toThrow(says)
    const [kept] = suite('none').filter(({ name }) => breaks.test(name))
    await kept?.run()
  })
})
