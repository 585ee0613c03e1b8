import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { GROWN } from '../grown.ts'
import { plants } from '../../../packages/testing/test/leaks/plants/index.ts'

/** The plant and the variant that this process is about: `PLANT` is its name, `VARIANT` is `leak` or `clean`. */
const plant = plants.find(({ name }) => name === process.env['PLANT'])
if (plant === undefined) throw new Error(`No plant is called \`${process.env['PLANT']}\``)

/** What has to be there before anybody watches. */
export async function prepare(): Promise<void> {
  await plant?.prepare?.()
}

/** Leaks, or does the same without leaking, and gives what goes by itself the time to go. */
export async function grow(): Promise<void> {
  if (process.env['VARIANT'] === 'leak') await plant?.leak()
  else await plant?.clean()
  writeSync(2, `${GROWN}\n`)
  await sleep(100)
}
