/** The conversation as a list: what was said, what is being said, and what an interruption cut off. */

export class Transcript {
  constructor(list, empty) {
    this.list = list;
    this.empty = empty;
    this.items = new Map();
    this.open = undefined;
  }

  reset() {
    this.items.clear();
    this.open = undefined;
    this.list.replaceChildren(this.empty);
  }

  /** What the caller is saying; replaced until it is final. */
  partial(text) {
    if (text.trim() === '') return;
    this.open ??= this.add('caller');
    this.open.entry.classList.add('partial');
    this.write(this.open, text);
  }

  final(text) {
    const item = this.open ?? (text.trim() === '' ? undefined : this.add('caller'));
    this.open = undefined;
    if (!item) return;
    if (text.trim() === '') return item.entry.remove();
    item.entry.classList.remove('partial');
    this.write(item, text);
  }

  /** The next part of what the agent says. */
  agent(itemId, text) {
    const item = this.itemOf(itemId);
    const before = item.words.textContent;
    this.write(item, before === '' ? text : `${before} ${text}`);
  }

  /** The caller interrupted: only so much of the item was heard. */
  corrected(itemId, heardText) {
    const item = this.itemOf(itemId);
    const whole = item.words.textContent;
    this.write(item, heardText);
    const unheard = whole.startsWith(heardText) ? whole.slice(heardText.length) : '';
    if (unheard.trim() !== '') item.words.append(Object.assign(document.createElement('del'), { textContent: unheard }));
    item.entry.classList.add('corrected');
    item.who.textContent = 'Agent · interrupted';
  }

  note(text) {
    this.empty.remove();
    const entry = Object.assign(document.createElement('li'), { className: 'note', textContent: text });
    this.list.append(entry);
    this.follow();
  }

  itemOf(itemId) {
    if (!this.items.has(itemId)) this.items.set(itemId, this.add('agent'));
    return this.items.get(itemId);
  }

  add(role) {
    this.empty.remove();
    const entry = Object.assign(document.createElement('li'), { className: role });
    const who = Object.assign(document.createElement('span'), { className: 'who', textContent: role === 'agent' ? 'Agent' : 'You' });
    const words = Object.assign(document.createElement('p'), { className: 'words' });
    entry.append(who, words);
    // What is still being said stays below what was said before.
    if (role === 'agent' && this.open) this.list.insertBefore(entry, this.open.entry);
    else this.list.append(entry);
    return { entry, who, words };
  }

  write(item, text) {
    item.words.textContent = text;
    this.follow();
  }

  follow() {
    this.list.scrollTop = this.list.scrollHeight;
  }
}
