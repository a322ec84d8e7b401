// Proves about the signer's walk, without bound: every index stays in its range (FORS tree, layer,
// leaf, chain, step, height). T_l gets no more nodes than its standard length. One hash is
// requested at a time; its state and block hold until it is answered. An offered word holds until
// it is accepted. The number of sent words is known at every place of the walk; a signature ends
// exactly after 1,068 words. A root is valid only after the end of a keygen. In every clock there
// is a request, an offered word or a step of the walk, so the signer cannot hang.
//
// slh_message and slh_tl are the card's own. The message has one byte, because its length only
// affects the hashes before the walk. Digests are arbitrary.
// Assumed, by the module's contract: inputs constant while busy, one command at a time, a signature
// only with a root, an answer only to a request. Also assumed: the top tree's root is PK.root; the
// simulation checks this with the real hash.
module slh_dsa_props
  import sha256_pkg::*;
  import slh_dsa_pkg::*;
(
    input logic clk,
    input logic reset,
    input logic keygen,
    input logic sign,
    input logic word_ready,
    input hash_answer_t answer
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  logic rst;
  assign rst = !started || reset;

  node_t sk_seed, sk_prf, pk_seed;
  logic [7:0] message;
  always_ff @(posedge clk) {sk_seed, sk_prf, pk_seed, message} <=
      {sk_seed, sk_prf, pk_seed, message};

  logic ready, root_valid, word_valid;
  node_t root, word;
  hash_request_t hash;
  slh_dsa #(
      .MessageBytes(1)
  ) dut (
      .clk_i(clk),
      .rst_i(rst),
      .keygen_i(keygen),
      .sign_i(sign),
      .ready_o(ready),
      .sk_seed_i(sk_seed),
      .sk_prf_i(sk_prf),
      .pk_seed_i(pk_seed),
      .message_i(message),
      .root_o(root),
      .root_valid_o(root_valid),
      .word_valid_o(word_valid),
      .word_ready_i(word_ready),
      .word_o(word),
      .hash_o(hash),
      .hash_i(answer)
  );

  typedef enum logic [3:0] {
    Idle, Seed, Message, Randomizer, Secret, Chain, Reveal, Absorb, Compress, Place, Node, Auth
  } state_e;
  logic [3:0] at;
  assign at = dut.state_q;

  logic asked_q;  // A hash is under way.
  always_comb if (!rst) begin
    assume (!(keygen && sign));
    assume (!(sign && ready && !root_valid));
    assume (!answer.done || asked_q);
    if (at == Auth && dut.signing_q && !dut.fors_q && dut.tree_q == 6'd21)
      assume (dut.value_q == dut.root_q);
  end

  logic hung_q, offers_q;
  state_t asked_state_q;
  block_t asked_block_q;
  node_t offered_q;
  always_ff @(posedge clk) begin
    asked_q <= !rst && (hash.start || asked_q) && !answer.done;
    {asked_state_q, asked_block_q} <= {hash.state, hash.block};
    hung_q <= !rst && (hash.start || asked_q) && !answer.done;
    offers_q <= !rst && word_valid && !word_ready;
    offered_q <= word;
  end

  // Number of words that must have been sent at the present place of the walk.
  logic [10:0] words_due;
  logic fors, selected_now, past, chain_out;
  logic [5:0] selected, leaf, low;
  logic [2:0] top;
  assign fors = dut.fors_q;
  assign selected = dut.selected;
  assign leaf = dut.leaf_q;
  assign selected_now = leaf == selected;
  assign past = leaf > selected;
  assign top = fors ? 3'd6 : 3'd3;
  assign low = 6'((7'd1 << dut.height_q) - 7'd1);
  // Whether this chain's value, or the FORS secret, was already sent.
  assign chain_out = (at == Chain && dut.step_q >= dut.digit) || at == Absorb || at == Compress
      || at == Place || at == Node || at == Auth;
  always_comb begin
    words_due = fors ? 11'd1 + 11'd7 * 11'(dut.tree_q) : 11'd232 + 11'd38 * 11'(dut.tree_q);
    if (at == Auth) words_due += (fors ? 11'd1 : 11'd35) + 11'(dut.height_q);
    else if (fors && at == Absorb) words_due += 11'd7;
    else if (fors) words_due += 11'(past || (selected_now && chain_out));
    else if (past || (selected_now && (at == Compress || at == Place || at == Node)))
      words_due += 11'd35;
    else if (selected_now) words_due += 11'(dut.chain_q) + 11'(chain_out);
    // All roots of the FORS trees are in T_l.
    if (at == Compress && fors) words_due = 11'd232;
    if (at == Idle || at == Seed || at == Message || at == Randomizer) words_due = '0;
  end

  always_comb begin
    if (started && !rst) begin
      // ---- the claims
      assert (at <= Auth);
      if (at != Idle) begin
        assert (dut.tree_q < (fors ? 6'd33 : 6'd22)
            || (fors && at == Compress && dut.tree_q == 6'd33));
        assert (leaf < (fors ? 6'd63 : 6'd7) || leaf == (fors ? 6'd63 : 6'd7));
        assert (dut.chain_q <= (fors ? 6'd0 : 6'd34));
        assert (dut.height_q <= top);
      end
      if (asked_q && at != Idle) assert (!hash.start);
      if (hung_q)
        assert (hash.state == asked_state_q && hash.block == asked_block_q && !hash.start);
      if (offers_q) assert (word_valid && word == offered_q);
      assert (ready || hash.start || asked_q || word_valid || at == Place
          || (at == Absorb && dut.tl_taken));
      if (dut.signing_q && at != Idle) assert (dut.words_q == words_due);
      if (at == Auth && word_ready && !fors && dut.tree_q == 6'd21 && dut.height_q == 3'd2)
        assert (words_due == 11'd1067);
      if (at != Idle) assert (root_valid == dut.signing_q);

      // ---- invariants for the induction
      assert (asked_q == dut.started_q);
      if (at == Idle) assert (!asked_q);
      if (!dut.signing_q && at != Idle)
        assert (!fors && dut.tree_q == 6'd21 && at != Message && at != Randomizer && at != Reveal
            && at != Auth);
      if (at == Seed || at == Message)
        assert (!fors && leaf == '0 && dut.chain_q == '0 && dut.height_q == '0);
      if (at == Randomizer)
        assert (fors && dut.tree_q == '0 && leaf == '0 && dut.chain_q == '0 && dut.height_q == '0);
      if (at == Message) assert (dut.u_message.state_q != 3'd0 || dut.u_message.block_q == '0);
      else assert (at == Randomizer || dut.u_message.state_q == '0 || rst);
      if (at == Secret || at == Chain || at == Reveal || at == Compress || (at == Absorb && !fors))
        assert (dut.height_q == '0);
      if (at == Absorb && fors) assert (dut.height_q == top);
      if (at == Chain) assert (dut.step_q < (fors ? 4'd1 : 4'd15));
      if (at == Reveal)
        assert (dut.signing_q && selected_now && dut.step_q == dut.digit
            && dut.step_q <= (fors ? 4'd1 : 4'd15));
      if (at == Node) assert (dut.height_q != '0 && dut.height_q <= top);
      if (at == Node) assert ((leaf & low) == low);
      if (at == Place) assert ((leaf & low) == low);
      if (at == Auth) assert (dut.height_q < top && dut.signing_q && leaf == (fors ? 6'd63 : 6'd7));
      if (at == Absorb && fors) assert (leaf == 6'd63);
      if (at == Compress && !fors) assert (dut.chain_q == '0);
      if (fors && at == Compress) assert (leaf == '0 && dut.tree_q == 6'd33);
      if ((at == Place || at == Node || at == Auth) && !fors) assert (dut.chain_q == '0);
      // T_l has one node for the address, and one for each absorbed node.
      if (!fors && (at == Absorb || at == Chain || at == Reveal))
        assert (dut.u_tl.nodes_q == 6'd1 + dut.chain_q);
      if (!fors && at == Secret && dut.chain_q != '0)
        assert (dut.u_tl.nodes_q == 6'd1 + dut.chain_q);
      if (!fors && at == Secret && dut.chain_q == '0 && asked_q) assert (dut.u_tl.nodes_q == 6'd1);
      if (!fors && at == Compress) assert (dut.u_tl.nodes_q == 6'd36);
      if (fors && at != Randomizer && at != Compress
          && !(at == Secret && dut.tree_q == '0 && leaf == '0 && !asked_q))
        assert (dut.u_tl.nodes_q == 6'd1 + dut.tree_q);
      if (fors && at == Compress) assert (dut.u_tl.nodes_q == 6'd34);

      // ---- covers: the claims are not vacuous (They do not reach a signature, which first needs
      // the 4,568 hashes of a keygen. The simulation signs.)
      cover (at == Chain && !dut.signing_q && asked_q && dut.step_q == 4'd2);
      cover (hung_q && at == Secret);
    end
  end
endmodule
