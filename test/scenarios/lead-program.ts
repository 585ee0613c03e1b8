/** The shortest program. It prints when its work begins and ends. */
import { lead } from 'tenure'

await lead({ ops: false, logLevel: 'error' }, async (term) => {
  console.log(`leads with epoch ${term.epoch}`)
  await term.every(1000, () => {})
})
console.log('done')
