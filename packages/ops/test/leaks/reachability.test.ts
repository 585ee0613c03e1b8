import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Reachability } from '../../src/leaks/reachability.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

interface Fact {
  readonly name: string
}

/** Watches subjects from the first to the last, then lets go of all but those to keep; returns what is found to be kept, each time. */
async function findings(
  names: readonly string[],
  keep: (name: string) => boolean,
): Promise<readonly (readonly string[])[]> {
  const reachability = new Reachability<Fact>()
  const kept = watchAll(reachability, names).filter(({ name }) => keep(name))
  const found: string[][] = []
  for (let round = 0; round < 2; round++) {
    await turn()
    collectGarbage()
    found.push(reachability.findKept().map(({ name }) => name))
  }
  expect(kept.length).toBeLessThanOrEqual(names.length)
  return found
}

/** In a function of its own, so that no frame refers to the subjects. */
function watchAll(reachability: Reachability<Fact>, names: readonly string[]): readonly Fact[] {
  const subjects = names.map((name) => ({ name }))
  for (const subject of subjects) {
    const end = reachability.begin(subject, { name: subject.name })
    end()
    end()
  }
  return subjects
}

test('subjects that are garbage are not found, however many of them there are', async () => {
  expect(await findings(['a', 'b', 'c', 'd', 'e', 'f'], () => false)).toEqual([[], []])
})

test('a subject that something refers to is found once, if three later ones are garbage', async () => {
  expect(await findings(['a', 'b', 'c', 'd', 'e'], (name) => name === 'b')).toEqual([['b'], []])
  expect(await findings(['a', 'b', 'c', 'd', 'e'], (name) => name === 'c')).toEqual([[], []])
})

test('of more than a hundred subjects the oldest are not watched', async () => {
  const names = Array.from({ length: 104 }, (_, index) => `s${index}`)
  expect(await findings(names, (name) => name === 's3')).toEqual([[], []])
  expect(await findings(names, (name) => name === 's4')).toEqual([['s4'], []])
})

test('a subject is not found before the later ones have been collected', () => {
  const reachability = new Reachability<Fact>()
  const subjects = watchAll(reachability, ['a', 'b', 'c', 'd', 'e'])
  // The garbage collector takes nothing in the turn in which a weak reference to it was made.
  collectGarbage()
  expect(reachability.findKept()).toEqual([])
  expect(subjects).toHaveLength(5)
})
