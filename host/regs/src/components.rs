//! SystemRDL component definitions
#![allow(non_camel_case_types)] // needed for type normalization suffixes

use super::_root; // alias to root module of generated code

pub mod card;
pub mod cfg_r_desc_04ee4c1b;
pub mod cfg_r_desc_2322bf59;
pub mod cfg_r_desc_2b06244b;
pub mod cfg_r_desc_53e9d39e;
pub mod cfg_r_desc_5d51bbd4;
pub mod cfg_r_desc_7245db2b;
pub mod cfg_r_desc_92f400d4;
pub mod cfg_r_desc_996c3a34;
pub mod cfg_r_desc_b9689d12;
pub mod cfg_r_desc_ee951f2a;
pub mod cfg_r_desc_fba5d635;
pub mod cfg_r_desc_fd4a955e;
pub mod lane_rf;
pub mod ro_r_desc_325d3e02;
pub mod ro_r_desc_52866f22;
pub mod ro_r_desc_62ae8653;
pub mod ro_r_desc_6d8a3ec1;
pub mod ro_r_desc_784b21d0;
pub mod ro_r_desc_7c9829ac;
pub mod ro_r_desc_7cc048e4;
pub mod ro_r_desc_7d5ec112;
pub mod ro_r_desc_7e8c4993;
pub mod ro_r_desc_81349e4c;
pub mod ro_r_desc_86b42606;
pub mod ro_r_desc_92141acb;
pub mod ro_r_desc_952d5eb9;
pub mod ro_r_desc_a6f78cc0;
pub mod ro_r_desc_b874c647;
pub mod ro_r_desc_b9689d12;
pub mod ro_r_desc_bd535d95;
pub mod ro_r_desc_bf766848;
pub mod ro_r_desc_cf60d431;
pub mod ro_r_desc_e9822798;
pub mod ro_r_desc_f7f7e3ea;
