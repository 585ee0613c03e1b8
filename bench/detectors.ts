import { parseArgs } from 'node:util'
import { plants } from '../packages/testing/test/leaks/plants/index.ts'
import { allDetectors, type Detector, type Verdict } from './detectors/detector.ts'
import { writeTable } from './written-table.ts'
import { type Figures, writeFigures } from './figures.ts'

/*
 * Compares leak detectors: runs every plant of the detector's own tests, leaked and clean, in a separate process under each detector.
 *
 * - caught: it reports that something was left
 * - named: it reports the place in the plant
 * - fails: the run fails
 * - refused: it does not let the plant do that
 *
 * `--readme` writes the table to the README of the package.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    detector: { type: 'string' },
    readme: { type: 'boolean' },
  },
})
const chosen = plants.filter(({ name }) => values.only === undefined || name.includes(values.only))
if (chosen.length === 0) {
  console.error(`Expected \`--only\` to be a part of the name of a plant, got \`${values.only}\``)
  process.exit(2)
}

interface Row {
  readonly leak: Verdict
  readonly clean: Verdict
}

const detectors = allDetectors().filter(({ id }) => values.detector === undefined || id === values.detector)
if (detectors.length === 0) {
  console.error(`Expected \`--detector\` to be the id of a detector, got \`${values.detector}\``)
  process.exit(2)
}
const figures: Record<string, number> = {
  kinds: new Set(chosen.map(({ kind }) => kind)).size,
  plants: chosen.length,
}
const table: string[] = []
const results = new Map<string, readonly Row[]>()
for (const detector of detectors) results.set(detector.id, await judge(detector))
for (const [index, { name }] of chosen.entries()) {
  table.push(name.padEnd(52) + detectors.map(({ id }) => cell(results.get(id)?.[index]).padEnd(32)).join(''))
}
console.log(`${'plant'.padEnd(52)}${detectors.map(({ title }) => title.padEnd(32)).join('')}`)
console.log(table.join('\n'))
for (const { id, title } of detectors) {
  const counts = countsOf(results.get(id) ?? [])
  for (const [name, count] of Object.entries(counts)) figures[`${id}.${name}`] = count
  console.log(
    `${title}: ${Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}`,
  )
}
if (values.readme === true) {
  await writeTable('packages/testing/README.md', 'npm run bench:detectors -- --readme', [
    ['planted', ...detectors.map(({ title }) => title)],
    ...chosen.map(({ name }, index) => [name, ...detectors.map(({ id }) => cell(results.get(id)?.[index]))]),
    ['**missed**', ...detectors.map(({ id }) => `**${figures[`${id}.missed`]} of ${chosen.length}**`)],
    ['**clean twins flagged**', ...detectors.map(({ id }) => `**${figures[`${id}.false_positives`]}**`)],
  ])
}
await writeFigures(values.json, figures)
process.exitCode = (figures['ours.missed'] ?? 1) + (figures['ours.false_positives'] ?? 1) === 0 ? 0 : 1

async function judge(detector: Detector): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const { name } of chosen) {
    const [leak, clean] = await Promise.all([detector.run(name, 'leak'), detector.run(name, 'clean')])
    rows.push({ leak, clean })
    process.stderr.write('.')
  }
  process.stderr.write(` ${detector.title}\n`)
  return rows
}

function cell(row: Row | undefined): string {
  if (row === undefined) return ''
  if (row.leak.refused) return 'refused'
  const words = row.leak.caught ? ['caught', row.leak.named ? 'named' : '', row.leak.failed ? 'fails' : ''] : ['–']
  if (row.clean.caught) words.push('(twin too)')
  return words.filter((word) => word !== '').join(' ')
}

/** What a twin looks like too is not told from a leak. */
function countsOf(rows: readonly Row[]): Figures {
  return {
    missed: rows.filter(({ leak }) => !leak.caught && !leak.refused).length,
    unnamed: rows.filter(({ leak }) => leak.caught && !leak.named).length,
    passing: rows.filter(({ leak }) => leak.caught && !leak.failed).length,
    false_positives: rows.filter(({ clean }) => clean.caught).length,
  }
}
