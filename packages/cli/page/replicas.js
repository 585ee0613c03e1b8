import { withText } from './detail.js'
import { ask } from './server.js'

/**
 * Shows the replicas that `tenure dev` runs, and programs that have joined it, with their buttons.
 * @param {HTMLElement} section
 * @param {readonly import('./model.js').Replica[]} replicas
 */
export function showReplicas(section, replicas) {
  section.hidden = replicas.length === 0
  const list = /** @type {HTMLElement} */ (section.querySelector('ul'))
  const names = new Set(replicas.map(({ name }) => name))
  for (const item of list.querySelectorAll('li')) if (!names.has(item.dataset['name'] ?? '')) item.remove()
  for (const replica of replicas) showReplica(list, replica)
}

/**
 * Buttons are kept, so that they keep the focus.
 * @param {HTMLElement} list
 * @param {import('./model.js').Replica} replica
 */
function showReplica(list, { name, state, isCutOff }) {
  const item = list.querySelector(`[data-name="${CSS.escape(name)}"]`) ?? itemFor(list, name)
  const [text, , pause, cut] = item.children
  if (text) text.textContent = `${name}: ${state}${isCutOff ? ', cut off' : ''}`
  if (pause) pause.textContent = state === 'paused' ? `Continue ${name}` : `Pause ${name}`
  if (cut) cut.textContent = isCutOff ? `Reconnect ${name}` : `Cut off ${name}`
}

/**
 * @param {HTMLElement} list
 * @param {string} name
 */
function itemFor(list, name) {
  const item = document.createElement('li')
  item.dataset['name'] = name
  const text = document.createElement('span')
  text.className = 'state'
  item.append(text)
  for (const action of ['kill', 'pause', 'cut']) {
    const button = withText('button', `Kill ${name}`)
    button.setAttribute('type', 'button')
    button.addEventListener('click', () => void ask('actions', { action, replica: name }))
    item.append(button)
  }
  list.append(item)
  return item
}
