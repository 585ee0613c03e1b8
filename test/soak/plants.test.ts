import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, 'main.ts')
const NODE = ['--conditions=@tenure/source', '--disable-warning=ExperimentalWarning']

interface Run {
  readonly code: number | null
  readonly output: string
}

/** A soak of 500 terms with one controller that leaks in every term. */
function soak(plant: string): Promise<Run> {
  const args = [...NODE, MAIN, '--terms', '500', '--controllers', '1', '--plant', plant]
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, output: stdout + stderr }),
    )
  })
}

/** Each plant with the expected finding. `SOAK_PLANTS=few` runs a quarter of them. */
const PLANTS: readonly (readonly [plant: string, finding: RegExp])[] = [
  ['heap', /LEFT BEHIND: heap: /],
  ['unref-timer', /LEFT BEHIND: timers: /],
  ['listener', /LEFT BEHIND: listeners\.bus: /],
  ['metric', /LEFT BEHIND: metrics\.global: /],
  ['buffer', /LEFT BEHIND: heap: /],
  ['map', /LEFT BEHIND: heap: /],
  ['term', /LEFT BEHIND: heap: /],
  ['reaction', /LEFT BEHIND: (?:heap|objects): /],
  ['process-listener', /LEFT BEHIND: listeners\.process: /],
  ['abort-listener', /LEFT BEHIND: listeners\.root: /],
  ['own-emitter', /LEFT BEHIND: (?:heap|objects): /],
  ['timer', /LEFT BEHIND: handle\.Timeout: /],
  ['socket', /LEFT BEHIND: handle\.TCPSocketWrap: /],
  ['unref-socket', /LEFT BEHIND: descriptors: /],
  ['descriptor', /LEFT BEHIND: descriptors: /],
  ['health-check', /LEFT BEHIND: health\.livez: /],
]
const chosen = PLANTS.filter((_plant, index) => process.env['SOAK_PLANTS'] !== 'few' || index < PLANTS.length / 4)

describe('a soak of 500 terms', () => {
  it.concurrent.each(chosen)('fails over a %s that every term leaves behind', async (plant, finding) => {
    const { code, output } = await soak(plant)
    expect(output).toMatch(finding)
    expect(code).toBe(1)
  })
})
