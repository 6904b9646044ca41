"""Appendices B and C of the thesis (Mauny 2018), typed from the document, errata applied.

B is the kernel of the constraints, in the order of (B.4) to (B.21). As printed it divides by B12,
which is zero for the upright bicycle: its entries are equal to those of a regular elimination as
expressions, not where B12 vanishes. C.1 is the mass matrix of the free bicycle; M17 and M27 are
printed as zero.
"""

CONSTRAINTS = {
    "A_{15}": r"l_2 s_{r_1} c_{\mu} + s_{\alpha_1} s_{r_1} h_2",
    "A_{26}": r"(s_{\alpha_1} c_{r_1} h_2 + (l_2 c_{r_1} - l_2) c_{\mu}) s_{\mu}"
    r" + c_{\alpha_1} h_2 c_{\mu} - h_3 + h_2",
    "A_{34}": r"(s_{\alpha_1} c_{r_1} h_2"
    r" + (l_2 c_{r_1} - l_2) c_{\mu}) c_{\mu} - c_{\alpha_1} h_2 s_{\mu} + l_2 + l_1",
    "B_{11}": r"-s_{\mu} s_{r_1} (l_2 c_{\mu} + h_2 s_{\alpha_1})",
    "B_{21}": r"-c_{\mu} s_{r_1} (l_2 c_{\mu} + h_2 s_{\alpha_1})",
    "B_{31}": r"c_{r_1} (l_2 c_{\mu} + h_2 s_{\alpha_1})",
    "B_{12}": r"h_2 (c_{r_1} c_{\alpha_1} s_{\mu} - s_{\alpha_1} c_{\mu})",
    "B_{22}": r"h_2 (c_{r_1} c_{\alpha_1} c_{\mu} + s_{\alpha_1} s_{\mu})",
    "B_{32}": r"h_2 s_{r_1} c_{\alpha_1}",
    "A_{56}": r"h_3 c_{\alpha_0}",
    "A_{64}": r"h_3 s_{\alpha_0}",
    "B_{43}": r"-h_3 s_{\alpha_0}",
    "B_{53}": r"h_3 c_{\alpha_0}",
    "A_{16}": "-A_{34}",
    "A_{24}": "-A_{15}",
    "A_{35}": "-A_{26}",
    "A_{46}": "-A_{64}",
    "A_{65}": "-A_{56}",
}
"""The entries of (2.29), C.2 and C.3 that are neither zero nor one."""

KERNEL = {
    "T_{16}": "-A_{46}",
    "T_{19}": "-B_{43}",
    "T_{26}": "-A_{56}",
    "T_{29}": "-B_{53}",
    "T_{34}": "-A_{64}",
    "T_{35}": "-A_{65}",
    "T_{45}": r"-\frac{A_{35} + T_{35}}{T_{34} + A_{34}}",
    "T_{47}": r"-\frac{B_{31}}{T_{34} + A_{34}}",
    "T_{48}": r"-\frac{B_{32}}{T_{34} + A_{34}}",
    "T_{85}": r"-\frac{A_{15}}{B_{12}}",
    "T_{86}": r"-\frac{A_{16} + T_{16}}{B_{12}}",
    "T_{87}": r"-\frac{B_{11}}{B_{12}}",
    "T_{89}": r"-\frac{T_{19}}{B_{12}}",
    "H_{65}": r"-\frac{A_{24}T_{45} + (A_{24}T_{48} + B_{22})T_{85}}"
    r"{(B_{22} + A_{24}T_{48})T_{86} + T_{26} + A_{26}}",
    "H_{67}": r"-\frac{B_{21} + A_{24}T_{47} + (A_{24}T_{48} + B_{22})T_{87}}"
    r"{(B_{22} + A_{24}T_{48})T_{86} + T_{26} + A_{26}}",
    "H_{69}": r"-\frac{T_{29} + (A_{24}T_{48} + B_{22})T_{89}}"
    r"{(B_{22} + A_{24}T_{48})T_{86} + T_{26} + A_{26}}",
    "H_{15}": "T_{16}H_{65}",
    "H_{17}": "T_{16}H_{67}",
    "H_{19}": "T_{16}H_{69} + T_{19}",
    "H_{25}": "T_{26}H_{65}",
    "H_{27}": "T_{26}H_{67}",
    "H_{29}": "T_{26}H_{69} + T_{29}",
    "H_{85}": "T_{86}H_{65} + T_{85}",
    "H_{87}": "T_{86}H_{67} + T_{87}",
    "H_{89}": "T_{86}H_{69} + T_{89}",
    "H_{45}": "T_{48}H_{85} + T_{45}",
    "H_{47}": "T_{48}H_{87} + T_{47}",
    "H_{49}": "T_{48}H_{89}",
    "H_{35}": "T_{34}H_{45} + T_{35}",
    "H_{37}": "T_{34}H_{47}",
    "H_{39}": "T_{34}H_{49}",
}
"""(B.4) to (B.21)."""

MASSES = {
    "M_{11}": r"m_0 + m_1 + m_2 + m_3",
    "M_{15}": r"s_{r_1} x_1 m_1 + c_\mu s_{r_1} l_2 m_2",
    "M_{16}": r"""-y_0 m_0 + (-l_1 - c_\mu c_{r_1} x_1 + s_\mu z_1) m_1
        + (-l_1 - c_\mu^2 c_{r_1} l_2 + c_\mu^2 l_2 - l_2) m_2""",
    "M_{17}": r"-s_\mu s_{r_1} (x_1 m_1 + c_\mu l_2 m_2)",
    "M_{26}": r"""x_0 m_0 + (h_2 - h_3 + s_\mu c_{r_1} x_1 + c_\mu z_1) m_1
        + (s_{2\mu} c_{r_1} l_2 - s_{2\mu} l_2 + 2h_2 - 2h_3) m_2 / 2""",
    "M_{27}": r"-c_\mu s_{r_1} (x_1 m_1 + c_\mu l_2 m_2)",
    "M_{37}": r"c_{r_1} x_1 m_1 + c_\mu c_{r_1} l_2 m_2",
    "M_{44}": r"""y_0^2 m_0 + (l_1^2 - 2s_\mu z_1 (l_1 + c_\mu c_{r_1} x_1) + 2c_\mu c_{r_1} x_1 l_1
        - (s_\mu c_{r_1} - 1) (s_\mu c_{r_1} + 1) x_1^2 + s_\mu^2 z_1^2) m_1
        + (l_1^2 + s_\mu^2 l_2 (2l_1 - l_2) - 2(s_\mu - 1) (s_\mu + 1) c_{r_1} l_2 (l_1 + s_\mu^2 l_2)
        + (s_\mu - 1) s_\mu^2 (s_\mu + 1) c_{r_1}^2 l_2^2 + s_\mu^4 l_2^2 + l_2^2) m_2 + I_{0xx}
        + s_\mu^2 c_{r_1}^2 I_{1xx} - s_\mu^2 (c_{r_1} - 1) (c_{r_1} + 1) I_{1yy}
        - (s_\mu - 1) (s_\mu + 1) I_{1zz}
        + 2c_\mu s_\mu c_{r_1} I_{1zx} + (s_\mu^2 c_{r_1}^2 - s_\mu^2 + 1) I_{2xx}
        - s_\mu^2 (c_{r_1} - 1) (c_{r_1} + 1) I_{2zz} + I_{3xx}""",
    "M_{45}": r"""-y_0 x_0 m_0 + (-h_2 l_1 + h_3 l_1 - s_\mu c_{r_1} x_1 l_1 - c_\mu z_1 l_1
        - c_\mu c_{r_1} x_1 h_2 + s_\mu z_1 h_2 + c_\mu c_{r_1} x_1 h_3 - s_\mu z_1 h_3
        - c_\mu s_\mu c_{r_1}^2 x_1^2
        + 2s_\mu^2 c_{r_1} z_1 x_1 - c_{r_1} z_1 x_1 + c_\mu s_\mu z_1^2) m_1
        - (c_\mu s_\mu c_{r_1} l_2 - c_\mu s_\mu l_2 + h_2 - h_3)
        (l_1 - s_\mu^2 c_{r_1} l_2 + c_{r_1} l_2 + s_\mu^2 l_2) m_2
        + I_{0xy} + c_\mu s_\mu c_{r_1}^2 I_{1xx} - c_\mu s_\mu (c_{r_1} - 1) (c_{r_1} + 1) I_{1yy}
        - c_\mu s_\mu I_{1zz}
        - (2s_\mu^2 - 1) c_{r_1} I_{1zx} + c_\mu s_\mu (c_{r_1} - 1) (c_{r_1} + 1) I_{2xx}
        - c_\mu s_\mu (c_{r_1} - 1) (c_{r_1} + 1) I_{2zz}""",
    "M_{46}": r"""-s_{r_1} x_1 (h_2 - h_3 + s_\mu c_{r_1} x_1 + c_\mu z_1) m_1
        - c_\mu s_{r_1} l_2 (c_\mu s_\mu c_{r_1} l_2 - c_\mu s_\mu l_2 + h_2 - h_3) m_2
        + s_\mu c_{r_1} s_{r_1} I_{1xx}
        - s_\mu c_{r_1} s_{r_1} I_{1yy} + c_\mu s_{r_1} I_{1zx} + s_\mu c_{r_1} s_{r_1} I_{2xx}
        - s_\mu c_{r_1} s_{r_1} I_{2zz}""",
    "M_{47}": r"""x_1 (c_{r_1} l_1 + c_\mu x_1 - s_\mu c_{r_1} z_1) m_1
        + c_\mu l_2 (c_{r_1} l_1 + s_\mu^2 c_{r_1} l_2 + c_\mu^2 l_2) m_2
        + c_\mu I_{1zz} + s_\mu c_{r_1} I_{1zx} + c_\mu I_{2xx}""",
    "M_{48}": r"-s_\mu s_{r_1} I_{2zz}",
    "M_{55}": r"""x_0^2 m_0 + (h_2^2 + 2c_\mu z_1 (h_2 - h_3 + s_\mu c_{r_1} x_1)
        + 2s_\mu c_{r_1} x_1 (h_2 - h_3)
        - 2h_3 h_2 + h_3^2 - (c_\mu c_{r_1} - 1) (c_\mu c_{r_1} + 1) x_1^2 + c_\mu^2 z_1^2) m_1
        + (-c_\mu^4 c_{r_1}^2 l_2^2 + 2c_\mu^4 c_{r_1} l_2^2 - 2c_\mu^2 c_{r_1} l_2^2 - c_\mu^4 l_2^2
        + 2c_\mu^2 l_2^2
        + 2c_\mu s_\mu c_{r_1} h_2 l_2 - 2c_\mu s_\mu h_2 l_2 - 2c_\mu s_\mu c_{r_1} h_3 l_2
        + 2c_\mu s_\mu h_3 l_2
        + h_2^2 - 2h_3 h_2 + h_3^2) m_2 + I_{0yy} + c_\mu^2 c_{r_1}^2 I_{1xx}
        - c_\mu^2 (c_{r_1} - 1) (c_{r_1} + 1) I_{1yy} - (c_\mu - 1) (c_\mu + 1) I_{1zz}
        - 2c_\mu s_\mu c_{r_1} I_{1zx}
        + (c_\mu^2 c_{r_1}^2 - c_\mu^2 + 1) I_{2xx} - c_\mu^2 (c_{r_1} - 1) (c_{r_1} + 1) I_{2zz}
        + I_{3xx}""",
    "M_{56}": r"""-x_1 (2s_{r_1} l_1 + c_\mu s_{2r_1} x_1 - 2s_\mu s_{r_1} z_1) m_1/2
        - l_2 (8c_\mu s_{r_1} l_1 + c_{3\mu} s_{2r_1} l_2
        + 3c_\mu s_{2r_1} l_2 - 2c_{3\mu} s_{r_1} l_2 + 2c_\mu s_{r_1} l_2) m_2/8
        + c_\mu s_{2r_1} I_{1xx}/2
        - c_\mu s_{2r_1} I_{1yy}/2 - s_\mu s_{r_1} I_{1zx} + c_\mu s_{2r_1} I_{2xx}/2
        - c_\mu s_{2r_1} I_{2zz}/2""",
    "M_{57}": r"""-x_1 (c_{r_1} h_2 - c_{r_1} h_3 + s_\mu x_1 + c_\mu c_{r_1} z_1) m_1
        + c_\mu l_2 (c_\mu s_\mu c_{r_1} l_2 - c_\mu s_\mu l_2 - c_{r_1} h_2 + c_{r_1} h_3) m_2
        - s_\mu I_{1zz} + c_\mu c_{r_1} I_{1zx} - s_\mu I_{2xx}""",
    "M_{58}": r"-c_\mu s_{r_1} I_{2zz}",
    "M_{66}": r"""(x_0^2 + y_0^2) m_0 + (l_1^2 - 2z_1 (s_\mu l_1 - c_\mu h_2 + c_\mu h_3)
        + 2c_{r_1} x_1 (c_\mu l_1 + s_\mu h_2 - s_\mu h_3) + h_2^2
        - 2h_3 h_2 + h_3^2 + c_{r_1}^2 x_1^2 + z_1^2) m_1
        + (l_1^2 + 2c_\mu c_{r_1} l_2 (c_\mu l_1 + s_\mu h_2 - s_\mu h_3) - c_\mu^2 l_2 (2l_1 + l_2)
        + 2l_2 l_1
        + c_\mu^2 c_{r_1}^2 l_2^2 + l_2^2 - s_{2\mu} (h_2 - h_3) l_2 + h_2^2 - 2h_3 h_2 + h_3^2) m_2
        + I_{0zz} - (c_{r_1} - 1) (c_{r_1} + 1) I_{1xx} + c_{r_1}^2 I_{1yy}
        - (c_{r_1} - 1) (c_{r_1} + 1) I_{2xx}
        + c_{r_1}^2 I_{2zz} + I_{3zz}""",
    "M_{67}": r"""s_{r_1} x_1 (s_\mu l_1 - c_\mu h_2 + c_\mu h_3 - z_1) m_1
        + c_\mu s_{r_1} l_2 (s_\mu l_1 + s_\mu l_2 - c_\mu h_2 + c_\mu h_3) m_2 + s_{r_1} I_{1zx}""",
    "M_{68}": r"c_{r_1} I_{2zz}",
    "M_{69}": r"I_{3zz}",
    "M_{77}": r"x_1^2 m_1 + c_\mu^2 l_2^2 m_2 + I_{1zz} + I_{2xx}",
    "M_{88}": r"I_{2zz}",
    "M_{99}": r"I_{3zz}",
    "M_{22}": "M_{11}",
    "M_{33}": "M_{11}",
    "M_{24}": "-M_{15}",
    "M_{34}": "-M_{16}",
    "M_{35}": "-M_{26}",
}
"""The entries of C.1 that are not zero."""
