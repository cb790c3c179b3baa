// A field for a text or a number that keeps what is typed in it, whatever else on the page changes meanwhile: Vue writes
// the value of a plain input anew with every change of the page. Emits `settled` with what was entered.
export default {
  template: `<input ref="box" @input="typing = true" @change="settle">`,
  props: { content: String, turn: Number },
  emits: ["settled"],
  data() { return { typing: false }; },
  mounted() { this.$refs.box.value = this.content; },
  watch: { turn() { if (!this.typing) this.$refs.box.value = this.content; } },
  methods: {
    settle(event) {
      this.typing = false;
      this.$emit("settled", event.target.value);
    },
  },
};
