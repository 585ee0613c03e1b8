import { OptionsError } from '@tenure/core'
import { type Random } from '@tenure/core/internal'
import { type FaultScript, formatScript, parseScript } from './fault-script.ts'

/**
 * The version of the simulator's behaviour. Increase it with every change that makes a seed give another run. The simulator refuses a
 * seed of another version, because it would replay something else.
 */
const SEED_VERSION = 4

/** A seed: the start of the random numbers, and the faults if they are not to be random. */
export interface Seed {
  readonly number: number
  readonly script: FaultScript | undefined
}

/**
 * Reads a seed: a number, or a text such as `s4-42`. After a `+` come the faults of a run whose history was shrunk.
 * @throws OptionsError for a seed of another version, or an invalid seed
 */
export function parseSeed(seed: string | number): Seed {
  if (typeof seed !== 'string') return { number: parseNumber(seed), script: undefined }
  const plus = seed.indexOf('+')
  if (plus < 0) return { number: parseNumber(seed), script: undefined }
  return { number: parseNumber(seed.slice(0, plus)), script: parseScript(seed.slice(plus)) }
}

function parseNumber(seed: string | number): number {
  if (typeof seed === 'number') {
    if (Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32) return seed
    throw OptionsError.expected(`\`seed\` to be a whole number of at least 0 and below 2^32`, seed)
  }
  const [, version, number] = /^s(\d+)-(\d+)$/.exec(seed) ?? []
  if (version === undefined || number === undefined) {
    throw OptionsError.expected(`\`seed\` to look like \`${formatSeed({ number: 42, script: undefined })}\``, seed)
  }
  if (Number(version) !== SEED_VERSION) {
    throw new OptionsError(
      `Expected \`seed\` to be of version ${SEED_VERSION} of the simulator, got \`${seed}\` of version ${version}. ` +
        'Each version runs a seed differently',
    )
  }
  return parseNumber(Number(number))
}

/** A seed as text, with the version of the simulator. */
export function formatSeed({ number, script }: Seed): string {
  return `s${SEED_VERSION}-${number}${script === undefined ? '' : formatScript(script)}`
}

/** A small generator with 32 bits of state (mulberry32, Tommy Ettinger). It is the only source of random numbers in a run. */
export function seededRandom(seed: number): Random {
  // Consecutive seeds must not start alike.
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ (seed >>> 13)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
