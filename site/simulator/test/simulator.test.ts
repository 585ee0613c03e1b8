import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleSimulator } from '../bundle.ts'
import { DEFECTS } from '../engine/defects.ts'
import { Fleet, type FleetOptions } from '../engine/fleet.ts'
import type { LogLine } from '../engine/run.ts'
import { formatScript, parseScript, scriptOf, type ScriptStep } from '../engine/script.ts'
import { parseAddress, Session } from '../engine/session.ts'

const SEEDS = 200
const RUN_MS = 30_000

let folder: string
/** The fleet of the bundle, in which the defects can be planted. */
let Bundled: typeof Fleet

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-engine-'))
  const file = join(folder, 'engine.mjs')
  await writeFile(file, await bundleSimulator('engine/fleet.ts', 'es'))
  Bundled = ((await import(pathToFileURL(file).href)) as { Fleet: typeof Fleet }).Fleet
})
afterAll(() => rm(folder, { recursive: true }))

async function run(Kind: typeof Fleet, options: FleetOptions, script: readonly ScriptStep[]): Promise<Fleet> {
  const fleet = new Kind(options)
  await fleet.play(script, RUN_MS)
  return fleet
}

function overlapsIn(log: readonly LogLine[]): number {
  return log.filter(({ isProblem }) => isProblem).length
}

describe('Without a defect', () => {
  test(`no two terms overlap in ${SEEDS} random scripts, and the replicas lead again and again`, async () => {
    let terms = 0
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const fleet = await run(Fleet, { seed }, scriptOf(seed, RUN_MS))
      terms += fleet.terms.length
      const found = { overlaps: fleet.overlaps.length, logged: overlapsIn(fleet.log) }
      expect(found, `#seed=${seed}`).toEqual({ overlaps: 0, logged: 0 })
    }
    expect(terms).toBeGreaterThan(2 * SEEDS)
  })

  test('no recipe of a defect makes two terms overlap', async () => {
    for (const { script } of DEFECTS)
      for (let seed = 0; seed < 10; seed += 1) expect((await run(Bundled, { seed }, script)).overlaps).toEqual([])
  })

  test('the bundle does what the sources of production do', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const script = scriptOf(seed, RUN_MS)
      const [source, bundled] = [await run(Fleet, { seed }, script), await run(Bundled, { seed }, script)]
      expect(bundled.log).toEqual(source.log)
    }
  })
})

describe.each(DEFECTS)('With the defect $id', ({ id, script }) => {
  test('two terms overlap in its recipe, whatever the seed', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const fleet = await run(Bundled, { seed, defect: id }, script)
      const longest = Math.max(0, ...fleet.overlaps.map(({ from, to }) => to - from))
      expect(longest, `#seed=${seed}&defect=${id}`).toBeGreaterThan(500)
      expect(overlapsIn(fleet.log)).toBeGreaterThan(0)
    }
  })

  test('the oracle and the log agree in random scripts, and some of them show it', async () => {
    let found = 0
    for (let seed = 0; seed < 20; seed += 1) {
      const { overlaps, log } = await run(Bundled, { seed, defect: id }, scriptOf(seed, RUN_MS))
      expect(overlapsIn(log) > 0, `#seed=${seed}&defect=${id}`).toBe(overlaps.length > 0)
      if (overlaps.length > 0) found += 1
    }
    expect(found).toBeGreaterThan(0)
  })
})

describe('A run', () => {
  test('is the same again, in steps of any length', async () => {
    const options = parseAddress('#seed=7')
    const whole = new Session(options)
    await whole.advance(RUN_MS)
    const frames = new Session(options)
    while (frames.fleet.now < RUN_MS) await frames.advance(Math.min(17, RUN_MS - frames.fleet.now))
    expect(frames.fleet.log).toEqual(whole.fleet.log)
    expect(whole.fleet.log.length).toBeGreaterThan(10)
  })

  test('opens again by its address, with everything that the reader did', async () => {
    const first = new Session(parseAddress(''))
    await first.advance(2500)
    first.act('pause', 1)
    await first.advance(7000)
    first.act('resume', 1)
    first.act('resume', 1)
    await first.advance(3000)
    expect(await first.address()).toBe('seed=1&script=2500.pause.1,9500.resume.1')
    const again = new Session(parseAddress(`#${await first.address()}`))
    await again.advance(12_500)
    expect(again.fleet.log).toEqual(first.fleet.log)
  })

  test('goes on step by step, to what happens next', async () => {
    const session = new Session(parseAddress('#seed=1&script=3000.kill.1'))
    const seen: string[] = []
    for (let steps = 0; steps < 3; steps += 1) {
      const { length } = session.fleet.log
      await session.step()
      seen.push(...session.fleet.log.slice(length).map(({ who, what }) => `${who} ${what}`))
    }
    expect(seen).toEqual([
      'replica-1 begins term 1',
      'replica-1 is killed',
      'replica-1 has given up term 1: killed',
      expect.stringMatching(/^replica-[23] begins term \d+$/),
    ])
  })
})

describe('An address', () => {
  test('keeps every action of a script', () => {
    for (let seed = 0; seed < 20; seed += 1)
      expect(parseScript(formatScript(scriptOf(seed, RUN_MS)))).toEqual(scriptOf(seed, RUN_MS))
  })

  test.each([
    ['#seed=-1', 'Expected `seed` to be a whole number below 2^32, got `-1`'],
    ['#seed=4294967296', 'Expected `seed` to be a whole number below 2^32, got `4294967296`'],
    ['#defect=B2', 'Expected `defect` to be one of B5, O3, B30, got `B2`'],
    ['#speed=2', 'Expected `seed`, `defect` and `script`, got `speed`'],
    ['#script=3000.stop.1', 'got `3000.stop.1`'],
    ['#script=3000.pause.4', 'got `3000.pause.4`'],
  ])('%s is refused', (address, message) => {
    expect(() => parseAddress(address)).toThrow(message)
  })
})

test('The bundle imports nothing of Node, and is refused if it does', async () => {
  await expect(bundleSimulator('page/main.ts', 'iife')).resolves.toMatch(/^\(function/)
  await expect(bundleSimulator('../../packages/core/src/term/owned/process-table.ts', 'es')).rejects.toThrow(
    /^Expected the simulator to import nothing, because it runs in a browser, but it imports node:fs\./,
  )
})
